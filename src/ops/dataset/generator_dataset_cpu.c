// The kernel of GeneratorDataset, whose elements three functions make:
//
//     init_func(args)            ->  state         once, before the first element
//     next_func(state, args)     ->  an element    until it fails with OUT_OF_RANGE, the end
//     finalize_func(state, args)                   once, at the end or when the iterator is freed
//
// The state is any tensors, such as the handle or the number of what the functions read from. Of
// |args| a function gets as many as it takes: TensorFlow's iterators over several devices give
// next_func one more, the resource that it reads from, which lives as long as the dataset then.
//
// An iterator that is freed before its end cannot wait for finalize_func: it leaves the call to a
// finalization_t, which is work in the background of the session (kernel/background.h) and frees
// itself when the call has returned. After the session is closed, the function is not called.
#include "base/checked.h"
#include "kernel/function_runtime.h"
#include "ops/dataset/ahead_cpu.h"
#include "ops/kernel_rows.h"

typedef enum role_e { INIT, NEXT, FINALIZE, ROLES } role_t;

typedef struct generator_s {
  leat_dataset_t base;  // its tensors are the captured tensors of the functions, in their order
  uint64_t functions[ROLES];
  int captured[ROLES];
  int passed[ROLES];  // of those captured
  int state_count;
  int final_count;  // returns of finalize_func, which nobody reads
} generator_t;

// A call of finalize_func after its iterator.
typedef struct finalization_s {
  leat_application_t application;
  leat_step_services_t services;
  _Atomic(int64_t) calls;  // of functions
  leat_background_t* background;
  leat_dataset_t* dataset;  // keeps the captured tensors
} finalization_t;

typedef struct generator_iterator_s {
  leat_iterator_t base;
  leat_application_t calls[ROLES];
  leat_tensor_t* state;          // [state_count]
  finalization_t* finalization;  // for an iterator that is freed before its end
  bool has_state;                // init_func has returned, and finalize_func was not called
  bool is_over;
} generator_iterator_t;

static const generator_t* dataset_of(const generator_iterator_t* it) {
  return (const generator_t*)it->base.dataset;
}

// Prepares calls of a function with the state, but for init_func, and what it captured.
static leat_status_t prepare(const generator_iterator_t* it, role_t role, int return_count,
                             leat_application_t* out_application) {
  const generator_t* generator = dataset_of(it);
  const int state = role == INIT ? 0 : generator->state_count;
  const leat_tensor_t* captured = generator->base.tensors;
  for (int i = 0; i < (int)role; ++i) captured += generator->captured[i];
  LEAT_RETURN_IF_ERROR(leat_application_initialize(it->base.draw_counts, state,
                                                   generator->passed[role], return_count,
                                                   out_application));
  for (int i = 0; i < generator->passed[role]; ++i) {
    out_application->arguments[state + i] = captured[i];
  }
  return leat_ok_status();
}

static leat_status_t generator_start(leat_iterator_t* self) {
  generator_iterator_t* it = (generator_iterator_t*)self;
  const generator_t* generator = dataset_of(it);
  const int returns[ROLES] = {generator->state_count, self->dataset->spec->count,
                              generator->final_count};
  LEAT_RETURN_IF_ERROR(
      LEAT_ALLOCATE(leat_allocator_system(), (size_t)generator->state_count + 1, &it->state));
  for (role_t role = INIT; role < ROLES; ++role) {
    LEAT_RETURN_IF_ERROR(prepare(it, role, returns[role], &it->calls[role]));
  }
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &it->finalization));
  return prepare(it, FINALIZE, generator->final_count, &it->finalization->application);
}

// ---- Finalization -------------------------------------------------------------------------------

static void free_finalization(finalization_t* finalization) {
  if (!finalization) return;
  leat_application_deinitialize(&finalization->application);
  leat_dataset_release(finalization->dataset);
  leat_background_release(finalization->background);
  leat_allocator_free(leat_allocator_system(), finalization);
}

// How the call ended is of no interest to anybody.
static void finalized(void* data, leat_status_t status) {
  finalization_t* finalization = data;
  leat_background_t* background = finalization->background;
  leat_background_retain(background);
  leat_status_free(status);
  free_finalization(finalization);
  leat_background_leave(background);
  leat_background_release(background);
}

// Starts finalize_func, which nobody waits for. The iterator's finalization is given away. Of a
// session that is closed not even the function runtime may be touched.
static void finalize(generator_iterator_t* it) {
  finalization_t* finalization = it->finalization;
  leat_function_runtime_t* functions = finalization->services.functions;
  leat_application_t* application = &finalization->application;
  if (!leat_background_enter(finalization->background)) return;
  it->finalization = NULL;
  finalization->dataset = it->base.dataset;
  leat_dataset_retain(finalization->dataset);
  leat_element_move(it->state, application->arguments, dataset_of(it)->state_count);
  it->has_state = false;
  application->call.caller = &finalization->services;
  application->call.calls = &finalization->calls;
  functions->vtable->run(functions, dataset_of(it)->functions[FINALIZE], &application->call,
                         finalized, finalization);
}

static void generator_stop(leat_iterator_t* self) {
  generator_iterator_t* it = (generator_iterator_t*)self;
  if (it->has_state) finalize(it);
  if (it->has_state) leat_element_release(it->state, dataset_of(it)->state_count);
  for (role_t role = INIT; role < ROLES; ++role) leat_application_deinitialize(&it->calls[role]);
  free_finalization(it->finalization);
  leat_allocator_free(leat_allocator_system(), it->state);
}

// ---- Elements -----------------------------------------------------------------------------------

static void start_call(generator_iterator_t* it, role_t role, leat_pull_t* pull,
                       leat_poll_t* out_poll) {
  *out_poll = LEAT_POLL_PENDING;
  leat_application_start(&it->calls[role], pull, dataset_of(it)->functions[role]);
}

static leat_status_t take_state(generator_iterator_t* it, leat_pull_t* pull) {
  LEAT_RETURN_IF_ERROR(leat_application_take(&it->calls[INIT], pull, it->state));
  it->finalization->services = leat_background_services(pull->services);
  it->finalization->background = pull->services->functions->background;
  leat_background_retain(it->finalization->background);
  it->has_state = true;
  return leat_ok_status();
}

// Takes what next_func gave. At the end finalize_func is called, and |*out_poll| is PENDING.
static leat_status_t take_element(generator_iterator_t* it, leat_pull_t* pull, leat_tensor_t* out,
                                  leat_poll_t* out_poll) {
  leat_status_t status = leat_application_take(&it->calls[NEXT], pull, out);
  leat_application_release_element(&it->calls[NEXT]);
  if (!status) *out_poll = LEAT_POLL_ELEMENT;
  if (leat_status_code(status) != LEAT_OUT_OF_RANGE) return status;
  leat_status_free(status);
  leat_element_move(it->state, it->calls[FINALIZE].arguments, dataset_of(it)->state_count);
  it->has_state = false;
  start_call(it, FINALIZE, pull, out_poll);
  return leat_ok_status();
}

static leat_status_t take_end(generator_iterator_t* it, leat_pull_t* pull) {
  leat_status_t status = leat_application_take(&it->calls[FINALIZE], pull,
                                               it->calls[FINALIZE].returns);
  leat_application_release(&it->calls[FINALIZE]);
  it->is_over = true;
  return status;
}

static leat_status_t generator_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                    leat_poll_t* out_poll) {
  generator_iterator_t* it = (generator_iterator_t*)self;
  if (it->is_over) return leat_ok_status();
  if (it->calls[FINALIZE].pending) return take_end(it, pull);
  if (it->calls[NEXT].pending) return take_element(it, pull, out, out_poll);
  if (it->calls[INIT].pending) LEAT_RETURN_IF_ERROR(take_state(it, pull));
  if (!it->has_state) {
    start_call(it, INIT, pull, out_poll);
    return leat_ok_status();
  }
  leat_element_share(it->state, it->calls[NEXT].arguments, dataset_of(it)->state_count);
  start_call(it, NEXT, pull, out_poll);
  return leat_ok_status();
}

static const leat_dataset_kind_t kGenerator = {.name = "Generator",
                                               .dataset_bytes = sizeof(generator_t),
                                               .iterator_bytes = sizeof(generator_iterator_t),
                                               .start = generator_start,
                                               .next = generator_next,
                                               .stop = generator_stop,
                                               .cardinality = leat_dataset_unknown_cardinality};

// ---- The kernel ---------------------------------------------------------------------------------

typedef struct generator_node_s {
  leat_element_spec_t* spec;
  leat_callee_t callees[ROLES];
  int captured[ROLES];
} generator_node_t;

static leat_status_t generator_create(leat_kernel_creation_t* c, void* state) {
  static const char* const kFunctions[ROLES] = {"init_func", "next_func", "finalize_func"};
  static const char* const kCaptured[ROLES] = {"Tinit_func_args", "Tnext_func_args",
                                               "Tfinalize_func_args"};
  generator_node_t* node = state;
  for (role_t role = INIT; role < ROLES; ++role) {
    const leat_attr_value_t* types;
    LEAT_RETURN_IF_ERROR(leat_callee_initialize(c, kFunctions[role], 0, &node->callees[role]));
    LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, kCaptured[role], &types));
    node->captured[role] = (int)types->count;
  }
  return leat_element_spec_of_attrs(c, "output_types", &node->spec);
}

// Finds the functions and the sizes of what init_func and finalize_func return.
static leat_status_t find_functions(leat_kernel_context_t* c, generator_t* generator) {
  generator_node_t* node = leat_kernel_state(c);
  int arguments, returns[ROLES];
  for (role_t role = INIT; role < ROLES; ++role) {
    uint64_t* function = &generator->functions[role];
    generator->captured[role] = node->captured[role];
    LEAT_RETURN_IF_ERROR(leat_callee_find(c, &node->callees[role], function));
    leat_function_runtime_t* functions = c->services->functions;
    LEAT_RETURN_IF_ERROR(
        functions->vtable->signature(functions, *function, &arguments, &returns[role]));
    const int room = role == INIT ? arguments : arguments - returns[INIT];
    generator->passed[role] = LEAT_MAX(0, LEAT_MIN(room, node->captured[role]));
  }
  generator->state_count = returns[INIT];
  generator->final_count = returns[FINALIZE];
  return leat_ok_status();
}

static leat_status_t generator__cpu(leat_kernel_context_t* c) {
  const generator_node_t* node = leat_kernel_state(c);
  leat_dataset_t* dataset;
  const int captured = leat_kernel_input_count(c);
  LEAT_RETURN_IF_ERROR(leat_dataset_create(&kGenerator, leat_element_spec_retain(node->spec), 0,
                                           captured, &dataset));
  leat_status_t status = leat_dataset_keep_inputs(c, 0, 0, captured, dataset);
  if (!status) status = find_functions(c, (generator_t*)dataset);
  if (status) {
    leat_dataset_release(dataset);
    return status;
  }
  return leat_dataset_set_output(c, dataset);
}

const leat_kernel_row_t leat_generator_dataset_kernels_cpu[] = {
    LEAT_CPU_KERNEL("GeneratorDataset", NULL, generator_node_t, generator_create, generator__cpu,
                    .destroy = leat_element_spec_state_destroy),
    LEAT_KERNEL_ROWS_END,
};
