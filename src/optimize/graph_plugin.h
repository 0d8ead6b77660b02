// Optimizers of plug-ins: passes that others write, over GraphDefs in place of edits. A plug-in
// names a type of device. Where a step has a node on a device of that type, its pass gets the whole
// placed graph as a message and gives another one back, which takes the graph's place. The pass
// "plugin" in the list of passes does this (graph_plugin.c). capi/plugin/graph_optimizer.c makes
// plug-ins of libraries that were loaded.
#ifndef LEAT_OPTIMIZE_GRAPH_PLUGIN_H_
#define LEAT_OPTIMIZE_GRAPH_PLUGIN_H_

#include "base/string_builder.h"
#include "optimize/pass.h"

// A graph for a plug-in, with what it must not remove or change the meaning of. All is borrowed.
typedef struct leat_graph_plugin_item_s {
  leat_string_view_t graph_def;
  const leat_string_view_t* fetches;  // "node:0", and the names of targets
  int fetch_count;
  const leat_string_view_t* kept;  // names of nodes: those fed come first, then fetches and targets
  int kept_count;
  int feed_count;
} leat_graph_plugin_item_t;

typedef struct leat_graph_plugin_s leat_graph_plugin_t;
struct leat_graph_plugin_s {
  const leat_graph_plugin_t* next;  // in the list of all
  leat_string_view_t device_type;
  // Passes that must not run where there are devices of the type: leat_pass_bit_t.
  uint32_t passes_off;
  // Appends the new GraphDef to |out_graph_def|. Called by the thread that compiles a step; several
  // may at once.
  leat_status_t (*optimize)(const leat_graph_plugin_t* plugin,
                            const leat_graph_plugin_item_t* item,
                            leat_string_builder_t* out_graph_def);
};

// Adds |plugin|, which must stay valid for ever, for signatures that are compiled from now on.
// ALREADY_EXISTS where there is one for its type of device. Any thread.
LEAT_MUST_USE leat_status_t leat_graph_plugin_register(leat_graph_plugin_t* plugin);
// The list of all; NULL: there are none.
const leat_graph_plugin_t* leat_graph_plugins(void);
// The passes that plug-ins for devices of |type| turn off.
uint32_t leat_graph_plugins_off(leat_string_view_t type);

#endif  // LEAT_OPTIMIZE_GRAPH_PLUGIN_H_
