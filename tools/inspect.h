// The kinds of file that leat inspect knows.
#ifndef LEAT_TOOLS_INSPECT_H_
#define LEAT_TOOLS_INSPECT_H_

#include "command.h"
#include "leat/files.h"

typedef struct inspection_s {
  const char* path;
  bool json;
  bool text;           // graph: all of it in the text format
  const char* node;    // graph
  const char* pass;    // graph: one of the optimizer's
  int devices;         // CPUs for a pass that works on what each device gets
  const char* tensor;  // checkpoint
  bool objects;        // checkpoint
  const char* as;      // records: the message that each is
  const char* compression;  // records: of the file
} inspection_t;

// Exit codes.
int inspect_graph(const inspection_t* inspection);
int inspect_pass(const inspection_t* inspection);
int inspect_checkpoint(const inspection_t* inspection);
int inspect_events(const inspection_t* inspection);
int inspect_records(const inspection_t* inspection);
int inspect_saved_model(const inspection_t* inspection);

// Is there a graph of objects in the checkpoint, and what it says.
bool objects_are_in(const leat_checkpoint_t* checkpoint);
int inspect_objects(leat_checkpoint_t* checkpoint, bool as_json);

#endif  // LEAT_TOOLS_INSPECT_H_
