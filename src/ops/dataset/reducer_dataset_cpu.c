// The kernel of GroupByReducerDataset, which folds the elements of each key into a state and gives
// one element for each key, in the order of the keys:
//
//     key_func(element)           ->  key, an int64
//     init_func(key)              ->  state               for a key that is new
//     reduce_func(state, element) ->  state
//     finalize_func(state)        ->  the key's element   when the input has ended
//
// One call goes on at a time (ops/dataset/pull_cpu.h). The element lies among the arguments of
// key_func until reduce_func gets it. A state is any number of tensors, as many as init_func
// returns. When a call fails its element is dropped, and the state of its key stays as it was.
#include <string.h>

#include "base/checked.h"
#include "ops/dataset/dataset_cpu.h"
#include "ops/kernel_rows.h"

typedef enum role_e { KEY, START, REDUCE, FINALIZE, ROLES } role_t;

typedef struct reducer_s {
  leat_dataset_t base;  // its tensors are the captured tensors of the functions, in their order
  uint64_t functions[ROLES];
  int captured[ROLES];
  int state_count;
} reducer_t;

typedef struct key_s {
  int64_t key;
  leat_tensor_t* state;  // [state_count]; NULL until init_func has returned
} key_state_t;

typedef struct reducer_iterator_s {
  leat_iterator_t base;
  leat_application_t calls[ROLES];
  key_state_t* keys;  // sorted
  size_t key_count, key_capacity;
  size_t at;  // the key of the element under way; when the input has ended, the next one to give
  bool input_ended;
} reducer_iterator_t;

static const reducer_t* dataset_of(const reducer_iterator_t* it) {
  return (const reducer_t*)it->base.dataset;
}

static leat_status_t reducer_start(leat_iterator_t* self) {
  reducer_iterator_t* it = (reducer_iterator_t*)self;
  const reducer_t* reducer = dataset_of(it);
  const int components = self->input->dataset->spec->count, state = reducer->state_count;
  const int elements[ROLES] = {components, 1, state + components, state};
  const int returns[ROLES] = {1, state, state, self->dataset->spec->count};
  const leat_tensor_t* captured = self->dataset->tensors;
  for (role_t role = KEY; role < ROLES; ++role) {
    LEAT_RETURN_IF_ERROR(leat_application_initialize(self->draw_counts, elements[role],
                                                     reducer->captured[role], returns[role],
                                                     &it->calls[role]));
    for (int i = 0; i < reducer->captured[role]; ++i) {
      it->calls[role].arguments[elements[role] + i] = *captured++;
    }
  }
  return leat_ok_status();
}

static void free_state(const reducer_iterator_t* it, key_state_t* key) {
  if (!key->state) return;
  leat_element_release(key->state, dataset_of(it)->state_count);
  leat_allocator_free(leat_allocator_system(), key->state);
  key->state = NULL;
}

static void reducer_stop(leat_iterator_t* self) {
  reducer_iterator_t* it = (reducer_iterator_t*)self;
  for (role_t role = KEY; role < ROLES; ++role) leat_application_deinitialize(&it->calls[role]);
  for (size_t i = 0; i < it->key_count; ++i) free_state(it, &it->keys[i]);
  leat_allocator_free(leat_allocator_system(), it->keys);
}

static void start_call(reducer_iterator_t* it, role_t role, leat_pull_t* pull,
                       leat_poll_t* out_poll) {
  *out_poll = LEAT_POLL_PENDING;
  leat_application_start(&it->calls[role], pull, dataset_of(it)->functions[role]);
}

// Sets |it->at| to the place of |key|, and inserts it where it is new.
static leat_status_t find_key(reducer_iterator_t* it, int64_t key) {
  size_t low = 0, high = it->key_count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (it->keys[middle].key < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  it->at = low;
  if (low < it->key_count && it->keys[low].key == key) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(
      LEAT_GROW(leat_allocator_system(), it->key_count + 1, &it->keys, &it->key_capacity));
  memmove(it->keys + low + 1, it->keys + low, (it->key_count - low) * sizeof *it->keys);
  it->keys[low] = (key_state_t){.key = key};
  ++it->key_count;
  return leat_ok_status();
}

// Starts reduce_func with the state of the current key and the element of key_func.
static void start_reduce(reducer_iterator_t* it, leat_pull_t* pull, leat_poll_t* out_poll) {
  const int state = dataset_of(it)->state_count;
  leat_tensor_t* arguments = it->calls[REDUCE].arguments;
  leat_element_share(it->keys[it->at].state, arguments, state);
  leat_element_move(it->calls[KEY].arguments, arguments + state, it->calls[KEY].element_count);
  start_call(it, REDUCE, pull, out_poll);
}

static leat_status_t take_key(reducer_iterator_t* it, leat_pull_t* pull, leat_poll_t* out_poll) {
  leat_tensor_t number;
  LEAT_RETURN_IF_ERROR(leat_application_take(&it->calls[KEY], pull, &number));
  const bool is_number = number.dtype == LEAT_DTYPE_INT64 && number.shape.element_count == 1;
  const int64_t key = is_number ? *leat_tensor_data(&number, const int64_t) : 0;
  leat_tensor_release(&number);
  if (!is_number) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "`key_func` must return a scalar int64.");
  }
  LEAT_RETURN_IF_ERROR(find_key(it, key));
  if (it->keys[it->at].state) {
    start_reduce(it, pull, out_poll);
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(leat_tensor_scalar(LEAT_DTYPE_INT64, &key, it->calls[START].arguments));
  start_call(it, START, pull, out_poll);
  return leat_ok_status();
}

static leat_status_t take_start(reducer_iterator_t* it, leat_pull_t* pull, leat_poll_t* out_poll) {
  leat_tensor_t* state = NULL;
  leat_status_t status = LEAT_ALLOCATE(leat_allocator_system(),
                                       (size_t)dataset_of(it)->state_count + 1, &state);
  leat_status_t taken = leat_application_take(&it->calls[START], pull, it->calls[START].returns);
  if (!status && !taken) {
    leat_element_move(it->calls[START].returns, state, dataset_of(it)->state_count);
    it->keys[it->at].state = state;
    start_reduce(it, pull, out_poll);
  } else {
    leat_allocator_free(leat_allocator_system(), state);
  }
  leat_application_release(&it->calls[START]);
  return leat_status_join(taken, status);
}

static leat_status_t take_state(reducer_iterator_t* it, leat_pull_t* pull) {
  leat_application_t* call = &it->calls[REDUCE];
  leat_tensor_t* state = it->keys[it->at].state;
  leat_status_t status = leat_application_take(call, pull, call->returns);
  leat_application_release_element(call);
  if (status) return status;
  leat_element_release(state, dataset_of(it)->state_count);
  leat_element_move(call->returns, state, dataset_of(it)->state_count);
  return leat_ok_status();
}

// Takes the next element of the input and starts key_func with it, or notes the end.
static leat_status_t read_input(reducer_iterator_t* it, leat_pull_t* pull, leat_poll_t* out_poll) {
  LEAT_RETURN_IF_ERROR(
      leat_iterator_next(it->base.input, pull, it->calls[KEY].arguments, out_poll));
  if (*out_poll == LEAT_POLL_ELEMENT) start_call(it, KEY, pull, out_poll);
  it->input_ended = *out_poll == LEAT_POLL_END;
  if (it->input_ended) it->at = 0;
  return leat_ok_status();
}

static leat_status_t give_element(reducer_iterator_t* it, leat_pull_t* pull, leat_tensor_t* out,
                                  leat_poll_t* out_poll) {
  leat_application_t* call = &it->calls[FINALIZE];
  if (call->pending) {
    leat_status_t status = leat_application_take(call, pull, out);
    leat_application_release_element(call);
    *out_poll = LEAT_POLL_ELEMENT;
    return status;
  }
  // A key whose init_func failed has no state.
  while (it->at < it->key_count && !it->keys[it->at].state) ++it->at;
  *out_poll = LEAT_POLL_END;
  if (it->at == it->key_count) return leat_ok_status();
  key_state_t* key = &it->keys[it->at++];
  leat_element_move(key->state, call->arguments, dataset_of(it)->state_count);
  leat_allocator_free(leat_allocator_system(), key->state);
  key->state = NULL;
  start_call(it, FINALIZE, pull, out_poll);
  return leat_ok_status();
}

static leat_status_t reducer_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                  leat_poll_t* out_poll) {
  reducer_iterator_t* it = (reducer_iterator_t*)self;
  leat_application_t* calls = it->calls;
  leat_status_t status = leat_ok_status();
  if (calls[KEY].pending) {
    status = take_key(it, pull, out_poll);
  } else if (calls[START].pending) {
    status = take_start(it, pull, out_poll);
  } else if (calls[REDUCE].pending) {
    status = take_state(it, pull);
  }
  if (status) leat_application_release_element(&calls[KEY]);
  if (status || *out_poll == LEAT_POLL_PENDING) return status;
  if (!it->input_ended) LEAT_RETURN_IF_ERROR(read_input(it, pull, out_poll));
  return it->input_ended ? give_element(it, pull, out, out_poll) : leat_ok_status();
}

static const leat_dataset_kind_t kReducer = {.name = "GroupByReducer",
                                             .dataset_bytes = sizeof(reducer_t),
                                             .iterator_bytes = sizeof(reducer_iterator_t),
                                             .opens_input = true,
                                             .start = reducer_start,
                                             .next = reducer_next,
                                             .stop = reducer_stop,
                                             .cardinality = leat_dataset_unknown_cardinality};

// ---- The kernel ---------------------------------------------------------------------------------

typedef struct reducer_node_s {
  leat_element_spec_t* spec;
  leat_callee_t callees[ROLES];
  int captured[ROLES];
} reducer_node_t;

static leat_status_t reducer_create(leat_kernel_creation_t* c, void* state) {
  static const char* const kFunctions[ROLES] = {"key_func", "init_func", "reduce_func",
                                                "finalize_func"};
  static const char* const kCaptured[ROLES] = {
      "Tkey_func_other_arguments", "Tinit_func_other_arguments", "Treduce_func_other_arguments",
      "Tfinalize_func_other_arguments"};
  reducer_node_t* node = state;
  for (role_t role = KEY; role < ROLES; ++role) {
    const leat_attr_value_t* types;
    LEAT_RETURN_IF_ERROR(leat_callee_initialize(c, kFunctions[role], 0, &node->callees[role]));
    LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, kCaptured[role], &types));
    node->captured[role] = (int)types->count;
  }
  return leat_element_spec_of_attrs(c, "output_types", &node->spec);
}

// Finds the functions, and how many tensors a state has.
static leat_status_t find_functions(leat_kernel_context_t* c, reducer_t* reducer) {
  reducer_node_t* node = leat_kernel_state(c);
  int arguments;
  for (role_t role = KEY; role < ROLES; ++role) {
    reducer->captured[role] = node->captured[role];
    LEAT_RETURN_IF_ERROR(leat_callee_find(c, &node->callees[role], &reducer->functions[role]));
  }
  leat_function_runtime_t* functions = c->services->functions;
  return functions->vtable->signature(functions, reducer->functions[START], &arguments,
                                      &reducer->state_count);
}

static leat_status_t reducer__cpu(leat_kernel_context_t* c) {
  const reducer_node_t* node = leat_kernel_state(c);
  leat_dataset_t *input, *dataset;
  const int captured = leat_kernel_input_count(c) - 1;
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, 0), &input));
  LEAT_RETURN_IF_ERROR(leat_dataset_create_over(&kReducer, leat_element_spec_retain(node->spec),
                                                input, captured, &dataset));
  leat_status_t status = leat_dataset_keep_inputs(c, 1, 0, captured, dataset);
  if (!status) status = find_functions(c, (reducer_t*)dataset);
  if (status) {
    leat_dataset_release(dataset);
    return status;
  }
  return leat_dataset_set_output(c, dataset);
}

#define KERNEL(name)                                                         \
  LEAT_CPU_KERNEL(name, NULL, reducer_node_t, reducer_create, reducer__cpu, \
                  .destroy = leat_element_spec_state_destroy)

const leat_kernel_row_t leat_reducer_dataset_kernels_cpu[] = {
    KERNEL("GroupByReducerDataset"),
    KERNEL("ExperimentalGroupByReducerDataset"),
    LEAT_KERNEL_ROWS_END,
};
