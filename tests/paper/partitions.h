// Sessions from a ConfigProto in text form, and the partitions of a graph that their devices get:
// the nodes of a step after placement and partitioning, as leat_pass_show tells.
#ifndef LEAT_TESTS_PAPER_PARTITIONS_H_
#define LEAT_TESTS_PAPER_PARTITIONS_H_

#include "leat/inspect.h"
#include "paper/counter.h"

TF_Session* paper_session(TF_Graph* graph, const char* config);

typedef struct paper_partitions_s {
  TF_Buffer* bytes;
  leat_message_t* message;
  leat_message_view_t graph;  // a GraphDef: all partitions as one
} paper_partitions_t;
// Of the step that fetches |fetch|, with no other pass than one that finds nothing to do.
paper_partitions_t paper_partitions_open(TF_Session* session, TF_Output fetch);
void paper_partitions_close(paper_partitions_t* partitions);
// Nodes of |op| (NULL: any) on a device whose name ends with |device| (NULL: any).
int paper_partitions_count(const paper_partitions_t* partitions, const char* device,
                           const char* op);
// Edges whose ends are on different devices.
int paper_partitions_crossings(const paper_partitions_t* partitions);

#endif  // LEAT_TESTS_PAPER_PARTITIONS_H_
