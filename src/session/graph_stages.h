// What a RunMetadata says of a step's graph: the graph that each device got, what became of the
// step's graph while it was compiled, stage by stage, and why its nodes are on their devices. The C
// API writes it for its caller, and a master for its client (cluster/master_session.c).
#ifndef LEAT_SESSION_GRAPH_STAGES_H_
#define LEAT_SESSION_GRAPH_STAGES_H_

#include "base/string_builder.h"
#include "session/session.h"

// Appends the graphs of |run|, which has run before, to |out|, an encoded RunMetadata: its fields
// partition_graphs and, as far as |out| has at most |most_bytes| with them, graph_stages and
// placement. Where they are more, these two are left out and a line of the log says so. The
// session's master must be this process (leat_session_show_partitions); blocks while it compiles.
LEAT_MUST_USE leat_status_t leat_session_describe_graphs(leat_session_t* session,
                                                         const leat_run_t* run, size_t most_bytes,
                                                         leat_string_builder_t* out);

#endif  // LEAT_SESSION_GRAPH_STAGES_H_
