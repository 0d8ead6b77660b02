// The nodes that made datasets (leat_dataset_node_t). A kernel calls leat_dataset_set_output when
// its dataset is whole, and what it was made of is noted there: op, attributes and inputs. From
// this follow the dataset's hash and its form as a graph, for all kinds alike. The inputs are
// shared; those that the dataset has kept already are shared with it, since the kernel may have
// given them up (leat_kernel_keep_input). Attributes are copied once for each kernel.
#include "ops/dataset/dataset_cpu.h"

void leat_dataset_node_release(leat_dataset_node_t* node) {
  leat_element_release(node->inputs, node->inputs ? node->input_count : 0);
  leat_allocator_free(leat_allocator_system(), node->inputs);
  leat_attr_list_release(node->attrs);
}

// What |dataset|, or one that is part of it, has kept of input |index| of the kernel; NULL: none.
// The kernel's own input may be gone by then (leat_kernel_keep_input).
static const leat_tensor_t* find_kept(const leat_dataset_t* dataset, int index) {
  const leat_tensor_t* found = NULL;
  for (int i = 0; i < dataset->tensor_count; ++i) {
    if (dataset->tensor_inputs[i] == index + 1) return &dataset->tensors[i];
  }
  for (int i = 0; i < dataset->input_count && !found; ++i) {
    if (!dataset->inputs[i]->node.op) found = find_kept(dataset->inputs[i], index);
  }
  return found;
}

leat_status_t leat_dataset_set_node(leat_kernel_context_t* c, leat_dataset_t* dataset) {
  leat_dataset_node_t* node = &dataset->node;
  const int count = leat_kernel_input_count(c);
  LEAT_RETURN_IF_ERROR(leat_kernel_keep_attrs(c->kernel, &node->attrs));
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), (size_t)count, &node->inputs));
  node->input_count = count;
  for (int i = 0; i < count; ++i) {
    const leat_tensor_t* kept = find_kept(dataset, i);
    if (kept) {
      node->inputs[i] = leat_tensor_share(kept);
    } else {
      LEAT_RETURN_IF_ERROR(leat_kernel_keep_input(c, i, &node->inputs[i]));
    }
  }
  node->functions = c->services->functions ? c->services->functions->number : 0;
  node->op = c->kernel->op;
  dataset->node_count = leat_dataset_count_nodes(node);
  return leat_ok_status();
}
