// The kinds of conversion that leat convert knows.
#ifndef LEAT_TOOLS_CONVERT_H_
#define LEAT_TOOLS_CONVERT_H_

#include "command.h"
#include "model.h"

#define CONVERT_MOST 64

typedef struct conversion_s {
  model_source_t source;
  const char* target;
  const char* signature;
  const char* outputs[CONVERT_MOST];
  int output_count;
} conversion_t;

// Exit codes.
int convert_graph(const conversion_t* conversion);
int convert_freeze(const conversion_t* conversion);
int convert_checkpoint(const conversion_t* conversion);

#endif  // LEAT_TOOLS_CONVERT_H_
