// The kinds of file that leat inspect knows.
#ifndef LEAT_TOOLS_INSPECT_H_
#define LEAT_TOOLS_INSPECT_H_

#include "command.h"

typedef struct inspection_s {
  const char* path;
  bool json;
  bool text;           // graph: all of it in the text format
  const char* node;    // graph
  const char* pass;    // graph: one of the optimizer's
  int devices;         // CPUs for a pass that works on what each device gets
  const char* tensor;  // checkpoint
  const char* as;      // records: the message that each is
} inspection_t;

// Exit codes.
int inspect_graph(const inspection_t* inspection);
int inspect_pass(const inspection_t* inspection);
int inspect_checkpoint(const inspection_t* inspection);
int inspect_events(const inspection_t* inspection);
int inspect_records(const inspection_t* inspection);

#endif  // LEAT_TOOLS_INSPECT_H_
