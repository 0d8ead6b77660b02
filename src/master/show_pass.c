// Runs one optimization pass by itself and shows the graph before and after it, for tools and
// tests. A pass on whole graphs sees the signature's graph (placed, if it is a pass on placed
// graphs); a pass on partitions sees what the partitioner cuts it into. The name "all" stands for
// all passes that run by default on a whole graph, in the order in which the master runs them.
// Nothing is registered or run.
#include <string.h>

#include "master/master.h"
#include "master/partitioner.h"

typedef struct show_pass_s {
  const leat_master_options_t* options;
  const leat_pass_t* pass;
  leat_rewrite_t* rewrite;
  leat_graph_view_fn_t show;
  void* data;
} show_pass_t;

// Finds the pass |name|; "all" gives NULL.
static leat_status_t find_pass(const char* name, const leat_pass_t** out_pass) {
  for (const leat_pass_t* const* pass = leat_passes; *pass; ++pass) {
    *out_pass = *pass;
    if (!strcmp((*pass)->name, name)) return leat_ok_status();
  }
  *out_pass = NULL;
  if (!strcmp(name, "all")) return leat_ok_status();
  return leat_make_status(LEAT_NOT_FOUND, "Showing a pass failed: there is no pass '%s'", name);
}

static leat_status_t show_whole(const show_pass_t* s) {
  const leat_pass_options_t options = leat_master_pass_options(s->options);
  if (s->pass->stage == LEAT_PASS_PLACED) {
    LEAT_RETURN_IF_ERROR(leat_place(s->rewrite->graph, &s->options->placement));
  }
  LEAT_RETURN_IF_ERROR(s->show(s->data, false, s->rewrite->graph));
  LEAT_RETURN_IF_ERROR(leat_pass_run(s->pass, s->rewrite, &options));
  return s->show(s->data, true, s->rewrite->graph);
}

// Runs all default passes on the whole graph, those on placed graphs after placing it.
static leat_status_t show_default(const show_pass_t* s) {
  LEAT_RETURN_IF_ERROR(s->show(s->data, false, s->rewrite->graph));
  leat_pass_options_t options = leat_master_pass_options(s->options);
  options.passes = leat_passes_of_option(NULL);
  LEAT_RETURN_IF_ERROR(leat_passes_run(s->rewrite, &options, LEAT_PASS_WHOLE));
  LEAT_RETURN_IF_ERROR(leat_place(s->rewrite->graph, &s->options->placement));
  LEAT_RETURN_IF_ERROR(leat_passes_run(s->rewrite, &options, LEAT_PASS_PLACED));
  return s->show(s->data, true, s->rewrite->graph);
}

void leat_name_device(leat_graph_t* graph, leat_string_view_t device) {
  for (size_t i = 0; i < graph->node_count; ++i) graph->nodes[i].device = device;
}

leat_status_t leat_show_partitions(const leat_master_options_t* options,
                                   const leat_partitions_t* partitions, bool after,
                                   leat_graph_view_fn_t show, void* data) {
  for (int i = 0; i < partitions->count; ++i) {
    const leat_partition_t* partition = &partitions->items[i];
    const leat_placement_device_t* device = &options->placement.devices[partition->device];
    if (device->task == 0) leat_name_device(partition->graph, device->name);
    LEAT_RETURN_IF_ERROR(show(data, after, partition->graph));
  }
  return leat_ok_status();
}

static leat_status_t run_partitions(const show_pass_t* s, const leat_partitions_t* partitions) {
  leat_graph_t** graphs;
  LEAT_RETURN_IF_ERROR(
      LEAT_ALLOCATE(s->options->allocator, (size_t)partitions->count + 1, &graphs));
  for (int i = 0; i < partitions->count; ++i) graphs[i] = partitions->items[i].graph;
  leat_status_t status =
      leat_passes_run_partitions(graphs, partitions->count, &s->options->passes, s->pass);
  leat_allocator_free(s->options->allocator, graphs);
  return status;
}

static leat_status_t show_partitioned(const show_pass_t* s) {
  leat_partitions_t partitions = {0};
  LEAT_RETURN_IF_ERROR(leat_place(s->rewrite->graph, &s->options->placement));
  LEAT_RETURN_IF_ERROR(leat_partition(&s->rewrite->graph, s->rewrite->fetches,
                                      s->rewrite->fetch_count, &s->options->placement,
                                      &partitions));
  leat_status_t status = leat_show_partitions(s->options, &partitions, false, s->show, s->data);
  if (!status) status = run_partitions(s, &partitions);
  if (!status) status = leat_show_partitions(s->options, &partitions, true, s->show, s->data);
  leat_partitions_free(&partitions);
  return status;
}

leat_status_t leat_master_show_pass(const leat_master_options_t* options, leat_rewrite_t* rewrite,
                                    const char* name, leat_graph_view_fn_t show, void* data) {
  show_pass_t s = {.options = options, .rewrite = rewrite, .show = show, .data = data};
  leat_status_t status = find_pass(name, &s.pass);
  if (!status) {
    status = !s.pass                 ? show_default(&s)
             : s.pass->stage == LEAT_PASS_PARTITIONS ? show_partitioned(&s)
                                                     : show_whole(&s);
  }
  leat_rewrite_deinitialize(rewrite);
  return status;
}
