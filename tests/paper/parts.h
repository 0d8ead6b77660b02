// Sessions from a ConfigProto in text form, and the parts of a graph that their devices get: the
// nodes of a step after placement and partitioning, as leat_pass_show tells.
#ifndef LEAT_TESTS_PAPER_PARTS_H_
#define LEAT_TESTS_PAPER_PARTS_H_

#include "leat/inspect.h"
#include "paper/counter.h"

TF_Session* paper_session(TF_Graph* graph, const char* config);

typedef struct paper_parts_s {
  TF_Buffer* bytes;
  leat_message_t* message;
  leat_message_view_t graph;  // a GraphDef: all parts as one
} paper_parts_t;
// Of the step that fetches |fetch|, with no other pass than one that finds nothing to do.
paper_parts_t paper_parts_open(TF_Session* session, TF_Output fetch);
void paper_parts_close(paper_parts_t* parts);
// Nodes of |op| (NULL: any) on a device whose name ends with |device| (NULL: any).
int paper_parts_count(const paper_parts_t* parts, const char* device, const char* op);
// Edges whose ends are on different devices.
int paper_parts_crossings(const paper_parts_t* parts);

#endif  // LEAT_TESTS_PAPER_PARTS_H_
