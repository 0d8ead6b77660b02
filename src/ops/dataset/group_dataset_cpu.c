// The kernel of GroupByWindowDataset. For each element of the input
//
//     key    = key_func(element)
//     size   = window_size_func(key)                    once for each key
//     window = the first |size| elements of that key    when there are so many
//     gives the elements of reduce_func(key, window)    a dataset that it returns
//
// At the end of the input the groups that are not full are reduced too, in the order of their keys.
// The iterator keeps a list of groups sorted by key. At most one of the three functions is being
// called at a time: go_on either takes the result of the call that was started, or starts the next
// one and answers PENDING (ops/dataset/pull_cpu.h). While key_func or window_size_func runs, the
// element lies among the arguments of key_func's call, and moves from there into its group.
#include <string.h>

#include "ops/dataset/dataset_cpu.h"
#include "ops/kernel_rows.h"

typedef enum role_e { KEY, REDUCE, SIZE, ROLES } role_t;

typedef struct groups_s {
  leat_dataset_t base;  // tensors: what the three functions captured, in the order of role_t
  uint64_t functions[ROLES];
  int captured[ROLES];
} groups_t;

typedef struct group_s {
  int64_t key, size;  // |size| is 0 until window_size_func has been called for the key
  leat_tensor_t* tensors;  // the collected elements, each with all its components
  size_t capacity;
  int64_t count;  // elements in |tensors|
} group_t;

typedef struct groups_iterator_s {
  leat_iterator_t base;
  leat_application_t calls[ROLES];
  group_t* groups;  // sorted by key
  size_t group_count, group_capacity;
  size_t at;  // index of the group to which the element in calls[KEY] belongs
  // elements of the dataset that reduce_func returned; NULL: none is being read
  leat_iterator_t* reduced;
} groups_iterator_t;

// An element of the input has so many components; what reduce_func gives may have another number.
static int component_count(const groups_iterator_t* it) {
  return it->base.input->dataset->spec->count;
}

// ---- Functions ----------------------------------------------------------------------------------

// Prepares the calls of function |role|; |captured| are the tensors that it captured, which follow
// the |element_count| arguments that each call sets.
static leat_status_t prepare_call(groups_iterator_t* it, role_t role, int element_count,
                                  const leat_tensor_t* captured) {
  const groups_t* dataset = (const groups_t*)it->base.dataset;
  leat_application_t* call = &it->calls[role];
  LEAT_RETURN_IF_ERROR(leat_application_initialize(it->base.draw_counts, element_count,
                                                   dataset->captured[role], 1, call));
  for (int i = 0; i < dataset->captured[role]; ++i)
    call->arguments[element_count + i] = captured[i];
  return leat_ok_status();
}

static leat_status_t groups_start(leat_iterator_t* self) {
  groups_iterator_t* it = (groups_iterator_t*)self;
  const groups_t* dataset = (const groups_t*)self->dataset;
  const leat_tensor_t* captured = self->dataset->tensors;
  LEAT_RETURN_IF_ERROR(prepare_call(it, KEY, component_count(it), captured));
  captured += dataset->captured[KEY];
  LEAT_RETURN_IF_ERROR(prepare_call(it, REDUCE, 2, captured));
  captured += dataset->captured[REDUCE];
  return prepare_call(it, SIZE, 1, captured);
}

static void groups_stop(leat_iterator_t* self) {
  groups_iterator_t* it = (groups_iterator_t*)self;
  for (int role = 0; role < ROLES; ++role) leat_application_deinitialize(&it->calls[role]);
  for (size_t i = 0; i < it->group_count; ++i) {
    group_t* group = &it->groups[i];
    leat_element_release(group->tensors, (int)group->count * component_count(it));
    leat_allocator_free(leat_allocator_system(), group->tensors);
  }
  leat_allocator_free(leat_allocator_system(), it->groups);
  leat_iterator_free(it->reduced);
}

static void start_call(groups_iterator_t* it, role_t role, leat_pull_t* pull,
                       leat_poll_t* out_poll) {
  *out_poll = LEAT_POLL_PENDING;
  leat_application_start(&it->calls[role], pull,
                         ((const groups_t*)it->base.dataset)->functions[role]);
}

// Takes the result of key_func or window_size_func, which must be one int64.
static leat_status_t take_number(leat_application_t* call, leat_pull_t* pull, const char* name,
                                 int64_t* out_value) {
  leat_tensor_t number;
  LEAT_RETURN_IF_ERROR(leat_application_take(call, pull, &number));
  bool is_number = number.dtype == LEAT_DTYPE_INT64 && number.shape.element_count == 1;
  if (is_number) *out_value = *leat_tensor_data(&number, const int64_t);
  leat_tensor_release(&number);
  if (is_number) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "`%s` must return a scalar int64.", name);
}

// ---- Groups -------------------------------------------------------------------------------------

// Sets |it->at| to the index of the group of |key|, by binary search. A group without elements is
// inserted where there is none.
static leat_status_t find_group(groups_iterator_t* it, int64_t key) {
  size_t low = 0, high = it->group_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (it->groups[middle].key < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  it->at = low;
  if (low < it->group_count && it->groups[low].key == key) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(
      LEAT_GROW(leat_allocator_system(), it->group_count + 1, &it->groups, &it->group_capacity));
  memmove(it->groups + low + 1, it->groups + low, (it->group_count - low) * sizeof *it->groups);
  it->groups[low] = (group_t){.key = key};
  ++it->group_count;
  return leat_ok_status();
}

// Moves the elements of group |index| into a window dataset, which leaves the group empty, and
// starts the call of reduce_func with it.
static leat_status_t reduce(groups_iterator_t* it, size_t index, leat_pull_t* pull,
                            leat_poll_t* out_poll) {
  group_t* group = &it->groups[index];
  leat_tensor_t* arguments = it->calls[REDUCE].arguments;
  leat_dataset_t* window;
  LEAT_RETURN_IF_ERROR(leat_window_create(leat_element_spec_retain(it->base.input->dataset->spec),
                                          group->count, &window));
  leat_element_move(group->tensors, window->tensors, window->tensor_count);
  group->count = 0;
  LEAT_RETURN_IF_ERROR(leat_dataset_to_tensor(window, &arguments[1]));
  leat_status_t status = leat_tensor_scalar(LEAT_DTYPE_INT64, &group->key, &arguments[0]);
  if (status) {
    leat_tensor_release(&arguments[1]);
    return status;
  }
  start_call(it, REDUCE, pull, out_poll);
  return leat_ok_status();
}

// Moves the element from calls[KEY] into its group, and starts reduce_func if the group is full
// now. |*out_poll| is PENDING when it does, and END otherwise.
static leat_status_t add_element(groups_iterator_t* it, leat_pull_t* pull, leat_poll_t* out_poll) {
  group_t* group = &it->groups[it->at];
  int components = component_count(it);
  LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(),
                                 ((size_t)group->count + 1) * (size_t)components, &group->tensors,
                                 &group->capacity));
  leat_element_move(it->calls[KEY].arguments, group->tensors + group->count++ * components,
                    components);
  *out_poll = LEAT_POLL_END;
  return group->count == group->size ? reduce(it, it->at, pull, out_poll) : leat_ok_status();
}

static leat_status_t take_key(groups_iterator_t* it, leat_pull_t* pull, leat_poll_t* out_poll) {
  int64_t key;
  LEAT_RETURN_IF_ERROR(take_number(&it->calls[KEY], pull, "key_func", &key));
  LEAT_RETURN_IF_ERROR(find_group(it, key));
  if (it->groups[it->at].size) return add_element(it, pull, out_poll);
  LEAT_RETURN_IF_ERROR(leat_tensor_scalar(LEAT_DTYPE_INT64, &key, &it->calls[SIZE].arguments[0]));
  start_call(it, SIZE, pull, out_poll);
  return leat_ok_status();
}

static leat_status_t take_size(groups_iterator_t* it, leat_pull_t* pull, leat_poll_t* out_poll) {
  int64_t size;
  leat_status_t status = take_number(&it->calls[SIZE], pull, "window_size_func", &size);
  leat_application_release_element(&it->calls[SIZE]);
  if (status) return status;
  if (size <= 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Window size must be greater than zero, but got %lld.",
                            (long long)size);
  }
  it->groups[it->at].size = size;
  return add_element(it, pull, out_poll);
}

// Opens an iterator over the dataset that reduce_func returned.
static leat_status_t take_reduced(groups_iterator_t* it, leat_pull_t* pull) {
  leat_tensor_t returned;
  leat_dataset_t* dataset;
  leat_status_t status = leat_application_take(&it->calls[REDUCE], pull, &returned);
  leat_application_release_element(&it->calls[REDUCE]);
  if (status) return status;
  status = leat_dataset_of(&returned, &dataset);
  if (!status) status = leat_element_spec_check_types(it->base.dataset->spec, dataset->spec);
  if (!status) status = leat_iterator_create(dataset, &it->base, &it->reduced);
  leat_tensor_release(&returned);
  return status;
}

// ---- The iterator -------------------------------------------------------------------------------

// Makes one step: takes the result of the call that has ended, or starts key_func with the next
// element of the input, or reduces a group that is left when the input has ended. |*out_poll| is
// PENDING when a call was started or the input waits, ELEMENT when the caller must call again, and
// END when nothing is left.
static leat_status_t go_on(groups_iterator_t* it, leat_pull_t* pull, leat_poll_t* out_poll) {
  leat_application_t* calls = it->calls;
  if (calls[KEY].pending || calls[SIZE].pending) {
    leat_status_t status =
        calls[KEY].pending ? take_key(it, pull, out_poll) : take_size(it, pull, out_poll);
    if (status) leat_application_release_element(&calls[KEY]);
    if (*out_poll == LEAT_POLL_END) *out_poll = LEAT_POLL_ELEMENT;
    return status;
  }
  LEAT_RETURN_IF_ERROR(leat_iterator_next(it->base.input, pull, calls[KEY].arguments, out_poll));
  if (*out_poll == LEAT_POLL_ELEMENT) start_call(it, KEY, pull, out_poll);
  if (*out_poll == LEAT_POLL_PENDING) return leat_ok_status();
  for (size_t i = 0; i < it->group_count; ++i) {
    if (it->groups[i].count) return reduce(it, i, pull, out_poll);
  }
  return leat_ok_status();
}

static leat_status_t groups_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                 leat_poll_t* out_poll) {
  groups_iterator_t* it = (groups_iterator_t*)self;
  if (it->calls[REDUCE].pending) LEAT_RETURN_IF_ERROR(take_reduced(it, pull));
  if (it->reduced) {
    LEAT_RETURN_IF_ERROR(leat_iterator_next(it->reduced, pull, out, out_poll));
    if (*out_poll != LEAT_POLL_END) return leat_ok_status();
    leat_iterator_free(it->reduced);
    it->reduced = NULL;
  }
  do {
    LEAT_RETURN_IF_ERROR(go_on(it, pull, out_poll));
  } while (*out_poll == LEAT_POLL_ELEMENT);
  return leat_ok_status();
}

static const leat_dataset_kind_t kGroups = {.name = "GroupByWindow",
                                            .dataset_bytes = sizeof(groups_t),
                                            .iterator_bytes = sizeof(groups_iterator_t),
                                            .opens_input = true,
                                            .start = groups_start,
                                            .next = groups_next,
                                            .stop = groups_stop,
                                            .cardinality = leat_dataset_unknown_cardinality};

// ---- The kernel ---------------------------------------------------------------------------------

typedef struct groups_node_s {
  leat_element_spec_t* spec;
  leat_callee_t callees[ROLES];
  int captured[ROLES];
} groups_node_t;

static leat_status_t groups_create(leat_kernel_creation_t* c, void* state) {
  static const char* const kFunctions[] = {"key_func", "reduce_func", "window_size_func"};
  static const char* const kCaptured[] = {"Tkey_func_other_arguments",
                                          "Treduce_func_other_arguments",
                                          "Twindow_size_func_other_arguments"};
  groups_node_t* node = state;
  for (int role = 0; role < ROLES; ++role) {
    const leat_attr_value_t* types;
    LEAT_RETURN_IF_ERROR(leat_callee_initialize(c, kFunctions[role], 0, &node->callees[role]));
    LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, kCaptured[role], &types));
    node->captured[role] = (int)types->count;
  }
  return leat_element_spec_of_attrs(c, "output_types", &node->spec);
}

static leat_status_t groups__cpu(leat_kernel_context_t* c) {
  groups_node_t* node = leat_kernel_state(c);
  leat_dataset_t *input, *dataset;
  int captured = leat_kernel_input_count(c) - 1;
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, 0), &input));
  LEAT_RETURN_IF_ERROR(leat_dataset_create_over(&kGroups, leat_element_spec_retain(node->spec),
                                                input, captured, &dataset));
  groups_t* groups = (groups_t*)dataset;
  leat_status_t status = leat_dataset_keep_inputs(c, 1, 0, captured, dataset);
  for (int role = 0; role < ROLES && !status; ++role) {
    groups->captured[role] = node->captured[role];
    status = leat_callee_find(c, &node->callees[role], &groups->functions[role]);
  }
  if (status) {
    leat_dataset_release(dataset);
    return status;
  }
  return leat_dataset_set_output(c, dataset);
}

#define KERNEL(name)                                                       \
  LEAT_CPU_KERNEL(name, NULL, groups_node_t, groups_create, groups__cpu, \
                  .destroy = leat_element_spec_state_destroy)

const leat_kernel_row_t leat_group_dataset_kernels_cpu[] = {
    KERNEL("GroupByWindowDataset"),
    KERNEL("ExperimentalGroupByWindowDataset"),
    LEAT_KERNEL_ROWS_END,
};
