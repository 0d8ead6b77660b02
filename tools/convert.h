// The conversions of leat convert, and what they are asked for.
#ifndef LEAT_TOOLS_CONVERT_H_
#define LEAT_TOOLS_CONVERT_H_

#include "command.h"
#include "model.h"

// The most outputs that one command may name.
#define CONVERT_MOST 64

// The arguments of one run of leat convert. All texts are borrowed from the command line.
typedef struct conversion_s {
  model_source_t source;
  const char* target;  // the file, or prefix of a checkpoint, that is written
  const char* signature;  // freeze: the only signature whose outputs are kept; NULL: all of them
  const char* outputs[CONVERT_MOST];  // freeze: names of outputs or operations that are kept
  int output_count;
} conversion_t;

// Each returns an exit code and has complained about what is wrong.
// convert_graph rewrites a graph file in its other form, binary or text. convert_freeze writes a
// graph in which variables are constants. convert_checkpoint rewrites a checkpoint as one of the
// second format (V2).
int convert_graph(const conversion_t* conversion);
int convert_freeze(const conversion_t* conversion);
int convert_checkpoint(const conversion_t* conversion);

#endif  // LEAT_TOOLS_CONVERT_H_
