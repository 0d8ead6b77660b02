// Contributions to the gradient of each output, and their sums. A reader of an output contributes
// one gradient; when all have, the sum is one AddN, or, where all contributions are rows, one
// concatenation of the rows and of the indices (repeated indices add up by definition).
// Contributions are kept in the order in which they come, so that sums of floats do not depend on
// addresses. The sum takes the place of the contributions, because it may be asked for twice.
#include "gradient/walk.h"

leat_status_t leat_walk_add_contribution(leat_walk_t* w, leat_output_t output,
                                         leat_gradient_value_t value) {
  if ((size_t)output.node >= w->node_count || !leat_output_exists(value.dense)) {
    return leat_ok_status();
  }
  leat_contribution_t*** list = &w->contributions[output.node];
  if (!*list) {
    size_t outputs = (size_t)w->graph->nodes[output.node].output_count;
    LEAT_RETURN_IF_ERROR(LEAT_NEW(&w->arena, outputs, list));
  }
  leat_contribution_t* contribution;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&w->arena, 1, &contribution));
  contribution->value = value;
  LEAT_DCHECK(output.index >= 0 && output.index < w->graph->nodes[output.node].output_count);
  leat_contribution_t** end = &(*list)[output.index];
  while (*end) end = &(*end)->next;
  *end = contribution;
  return leat_ok_status();
}

bool leat_walk_has_contributions(const leat_walk_t* w, leat_output_t output) {
  LEAT_DCHECK(output.index >= 0 && (size_t)output.node < w->node_count);
  return w->contributions[output.node] && w->contributions[output.node][output.index];
}

// The rows of all contributions, one behind the other.
static leat_gradient_value_t join_rows(leat_builder_t* b, const leat_contribution_t* first,
                                       leat_output_t* scratch, int count) {
  leat_gradient_value_t sum = first->value;
  leat_output_t axis = leat_build_scalar(b, LEAT_DTYPE_INT32, 0);
  for (int field = 0; field < 2; ++field) {
    int n = 0;
    for (const leat_contribution_t* p = first; p; p = p->next) {
      scratch[n++] = field ? p->value.indices : p->value.dense;
    }
    LEAT_DCHECK(n == count);
    scratch[n] = axis;
    leat_output_t joined = leat_build(b, "ConcatV2", (leat_outputs_t){scratch, count + 1},
                                      LEAT_ATTRS(LEAT_INT("N", count)));
    *(field ? &sum.indices : &sum.dense) = joined;
  }
  return sum;
}

leat_status_t leat_walk_sum_contributions(leat_walk_t* w, leat_builder_t* b, leat_output_t output,
                                          leat_gradient_value_t* out_sum) {
  *out_sum = LEAT_GRADIENT_NONE;
  LEAT_RETURN_IF_ERROR(leat_builder_take_status(b));
  if ((size_t)output.node >= w->node_count || !leat_walk_has_contributions(w, output)) {
    return leat_ok_status();
  }
  leat_contribution_t* first = w->contributions[output.node][output.index];
  int count = 0;
  bool all_rows = true;
  for (const leat_contribution_t* p = first; p; p = p->next, ++count) {
    all_rows &= leat_gradient_is_rows(p->value);
  }
  LEAT_DCHECK(count > 0);
  if (count == 1) {
    *out_sum = first->value;
    return leat_ok_status();
  }
  leat_output_t* items;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&w->arena, (size_t)count + 1, &items));
  // Sums are named as TensorFlow 1 names them, "gradients/AddN", whichever operation they are of.
  leat_builder_t sums = *b;
  LEAT_RETURN_IF_ERROR(leat_arena_print(&w->arena, &sums.scope, "%.*s/", LEAT_SV_ARG(w->prefix)));
  if (all_rows) {
    *out_sum = join_rows(&sums, first, items, count);
  } else {
    int n = 0;
    for (const leat_contribution_t* p = first; p; p = p->next) {
      items[n++] = leat_gradient_value_to_dense(&sums, p->value);
    }
    out_sum->dense = leat_build(&sums, "AddN", (leat_outputs_t){items, count}, LEAT_NO_ATTRS);
  }
  first->value = *out_sum;
  first->next = NULL;
  return leat_builder_take_status(&sums);
}
