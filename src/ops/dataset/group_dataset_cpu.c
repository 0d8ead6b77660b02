// Groups: a function gives each element a key; those of one key are collected, and when there are
// enough of them (another function of the key says how many) a third one makes a dataset of them,
// whose elements come next. At the end the groups that are not full follow by their keys.
#include <string.h>

#include "ops/dataset/window_dataset_cpu.h"
#include "ops/kernel_rows.h"

typedef enum role_e { KEY, REDUCE, SIZE, ROLES } role_t;

typedef struct groups_s {
  leat_dataset_t base;  // tensors: what the functions captured, by role
  uint64_t functions[ROLES];
  int captured[ROLES];
} groups_t;

typedef struct group_s {
  int64_t key, size;  // 0: not yet known
  leat_tensor_t* tensors;
  size_t capacity;
  int64_t count;  // of elements
} group_t;

typedef struct groups_iterator_s {
  leat_iterator_t base;
  leat_application_t calls[ROLES];
  group_t* groups;  // by key
  size_t group_count, group_capacity;
  size_t at;  // the group of the element that is among the arguments of KEY
  leat_iterator_t* reduced;
} groups_iterator_t;

static int component_count(const groups_iterator_t* it) {
  return it->base.input->dataset->spec->count;
}

// ---- Functions ----------------------------------------------------------------------------------

static leat_status_t prepare_call(groups_iterator_t* it, role_t role, int element_count,
                                  const leat_tensor_t* captured) {
  const groups_t* dataset = (const groups_t*)it->base.dataset;
  leat_application_t* call = &it->calls[role];
  LEAT_RETURN_IF_ERROR(
      leat_application_initialize(element_count, dataset->captured[role], 1, call));
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

// |it->at| becomes the place of |key|, where a group is made if there is none.
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
  LEAT_RETURN_IF_ERROR(leat_allocator_grow_array(leat_allocator_system(), it->group_count + 1,
                                                 sizeof *it->groups, (void**)&it->groups,
                                                 &it->group_capacity));
  memmove(it->groups + low + 1, it->groups + low, (it->group_count - low) * sizeof *it->groups);
  it->groups[low] = (group_t){.key = key};
  ++it->group_count;
  return leat_ok_status();
}

// Calls the function that makes a dataset of group |index|, which is empty then.
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
  LEAT_RETURN_IF_ERROR(leat_tensor_scalar(LEAT_DTYPE_INT64, &group->key, &arguments[0]));
  start_call(it, REDUCE, pull, out_poll);
  return leat_ok_status();
}

// The element goes into its group, which may be full then.
static leat_status_t add_element(groups_iterator_t* it, leat_pull_t* pull, leat_poll_t* out_poll) {
  group_t* group = &it->groups[it->at];
  int components = component_count(it);
  LEAT_RETURN_IF_ERROR(leat_allocator_grow_array(
      leat_allocator_system(), ((size_t)group->count + 1) * (size_t)components,
      sizeof *group->tensors, (void**)&group->tensors, &group->capacity));
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

static leat_status_t take_reduced(groups_iterator_t* it, leat_pull_t* pull) {
  leat_tensor_t returned;
  leat_dataset_t* dataset;
  leat_status_t status = leat_application_take(&it->calls[REDUCE], pull, &returned);
  leat_application_release_element(&it->calls[REDUCE]);
  if (status) return status;
  status = leat_dataset_of(&returned, &dataset);
  if (!status) status = leat_element_spec_check_types(it->base.dataset->spec, dataset->spec);
  if (!status) status = leat_iterator_create(dataset, it->base.depth, &it->reduced);
  leat_tensor_release(&returned);
  return status;
}

// ---- The iterator -------------------------------------------------------------------------------

// Takes what a call gave, or begins one with the next element, or with a group where there is none.
// END where nothing is left to do; what it says else is PENDING or, after END of a call, ELEMENT.
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

const leat_kernel_row_t leat_group_dataset_kernels_cpu[] = {
    {.op = "GroupByWindowDataset",
     .device_type = "CPU",
     .create = groups_create,
     .destroy = leat_element_spec_state_destroy,
     .state_bytes = sizeof(groups_node_t),
     .compute = groups__cpu},
    LEAT_KERNEL_ROWS_END,
};
