// The names under which iterators tell their statistics (ops/dataset/stats_cpu.h). They are those
// of TensorFlow, "PrefetchDataset/_5::buffer_size", where the number is that of the dataset's node
// in a graph of the whole pipeline, as TensorFlow writes one to rewrite it. In such a graph the
// nodes of an op's inputs precede the op, datasets first, and each input that is no dataset is a
// node:
//
//   Const/_0 Const/_1 Const/_2 RangeDataset/_3 Const/_4 PrefetchDataset/_5
//
// So a dataset's number follows from how many nodes stand below it and before it. Nothing is
// rewritten here: where TensorFlow puts another dataset into the place of one, the name is another.
// Datasets that a function makes have no number, and a dataset that is part of another one has its
// name.
#include "base/checked.h"
#include "base/string_builder.h"
#include "ops/dataset/dataset_cpu.h"
#include "ops/dataset/stats_cpu.h"

static int64_t sum(int64_t one, int64_t other) {
  return LEAT_MIN(one + other, LEAT_MAX_DATASET_NODES);
}

int64_t leat_dataset_count_nodes(const leat_dataset_node_t* node) {
  int64_t count = 1;
  for (int i = 0; i < node->input_count; ++i) {
    leat_dataset_t* below = NULL;
    const bool is_dataset = leat_dataset_find(&node->inputs[i], &below);
    count = sum(count, is_dataset ? below->node_count : 1);
  }
  return count;
}

// The number of the first node of |dataset|, which |owner| reads.
static int64_t first_node_of(const leat_dataset_t* dataset, const leat_iterator_t* owner) {
  int64_t first = owner->first_node;
  for (int i = 0; i < owner->dataset->input_count && first >= 0; ++i) {
    if (owner->dataset->inputs[i] == dataset) return first;
    first = sum(first, owner->dataset->inputs[i]->node_count);
  }
  return -1;
}

void leat_iterator_find_name(leat_iterator_t* iterator, const leat_iterator_t* owner) {
  iterator->named = iterator->dataset->node.op || !owner ? iterator->dataset : owner->named;
  iterator->first_node = owner ? first_node_of(iterator->dataset, owner) : 0;
}

static leat_status_t tell(leat_iterator_t* it, const char* what, double value,
                          leat_status_t (*how)(leat_stats_t*, leat_string_view_t, double,
                                               int64_t)) {
  leat_string_builder_t tag;
  if (!it->stats) return leat_ok_status();
  leat_string_builder_initialize(leat_allocator_system(), &tag);
  leat_string_builder_append(&tag, it->named->node.op->name);
  if (it->first_node >= 0) {
    const int64_t number = it->first_node + it->named->node_count - 1;
    leat_string_builder_print(&tag, "/_%lld", (long long)number);
  }
  leat_string_builder_print(&tag, "::%s", what);
  leat_status_t status = leat_status_clone(tag.status);
  if (!status) status = how(it->stats, leat_string_builder_view(&tag), value, it->given);
  leat_string_builder_deinitialize(&tag);
  return status;
}

leat_status_t leat_iterator_tell_last(leat_iterator_t* iterator, const char* what, double value) {
  return tell(iterator, what, value, leat_stats_set);
}

leat_status_t leat_iterator_tell_each(leat_iterator_t* iterator, const char* what, double value) {
  return tell(iterator, what, value, leat_stats_add);
}
