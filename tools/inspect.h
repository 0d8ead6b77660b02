// The inspections of leat inspect, and what they are asked for.
#ifndef LEAT_TOOLS_INSPECT_H_
#define LEAT_TOOLS_INSPECT_H_

#include "command.h"
#include "leat/files.h"

// The arguments of one run of leat inspect; the texts are NULL where they were not given.
typedef struct inspection_s {
  const char* path;
  bool json;
  bool text;           // graph: print all of it in the text format
  const char* node;    // graph: print only this node
  const char* pass;    // graph: show what this pass of the optimizer does
  bool svg;            // graph: draw it
  const char** open;   // graph: the scopes that the drawing shows with what is in them
  int open_count;
  int devices;         // graph: number of CPU devices for passes that work on what each device gets
  const char* tensor;  // checkpoint: print the values of this tensor
  bool objects;        // checkpoint: print the objects of TensorFlow 2
  const char* as;      // records: the message that each record is
  const char* compression;  // records: the compression of the file
} inspection_t;

// Each returns an exit code and has complained about what is wrong.
// inspect_pass and inspect_svg are the parts of inspect_graph that |pass| and |svg| ask for.
int inspect_graph(const inspection_t* inspection);
int inspect_pass(const inspection_t* inspection);
int inspect_svg(const inspection_t* inspection);
int inspect_checkpoint(const inspection_t* inspection);
int inspect_events(const inspection_t* inspection);
int inspect_records(const inspection_t* inspection);
int inspect_saved_model(const inspection_t* inspection);

// Whether a checkpoint has an object graph, and the printing of it.
bool objects_are_in(const leat_checkpoint_t* checkpoint);
int inspect_objects(leat_checkpoint_t* checkpoint, bool as_json);

#endif  // LEAT_TOOLS_INSPECT_H_
