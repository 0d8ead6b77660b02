// The function runtime of a session. A function is identified by its name, its attributes and the
// device that it is called from. It is compiled when it is first called rather than with its
// caller, so that a function that calls itself, directly or not, finds itself in the list; the
// calls of a recursion then run one compiled graph.
//
//   kernel ─▶ instantiate(name, attrs, device) ─▶ handle = runtime's number << 32 | index
//   kernel ─▶ run(handle, arguments) ─▶ checks of depth, count and types ─▶ leat_compiled_start
//
// Compiling is slow, and threads of the pool call instantiate while steps run. So a function is
// entered in the list as COMPILING under |mutex|, compiled without it, and then becomes READY for
// good. Whoever wants the same function meanwhile waits on |changed|; whoever wants another one is
// not held up:
//
//   ABSENT ─▶ COMPILING ─▶ READY
//     ▲           └─▶ FAILED ─┐        as long as somebody who waited has not read the status
//     └───────────────────────┘
//
// A failure is told to all who waited and is then forgotten, since the function may be defined
// later. The entry stays, so that calls that fail again and again take no memory. Runs look up the
// list under |lock|, which is held for a few instructions; a function that is in the list is never
// removed while the runtime lives, and handles are given out for READY ones only. The depth of
// nested calls is limited, and their number in a step, so that runaway recursion ends with
// RESOURCE_EXHAUSTED.
#include "master/function_runtime.h"

#include <string.h>

#include "base/map.h"
#include "base/sync.h"
#include "function/body_graph.h"
#include "graph/storage.h"
#include "master/graph_reader.h"
#include "master/graph_writer.h"

typedef enum function_state_e {
  FUNCTION_ABSENT,
  FUNCTION_COMPILING,
  FUNCTION_FAILED,
  FUNCTION_READY,
} function_state_t;

typedef struct function_s {
  leat_function_name_t function;  // lies in the runtime's arena
  leat_string_view_t device, scope;     // |scope|: put before the names of the nodes
  // Under the runtime's mutex.
  function_state_t state;
  bool forgotten;        // its definition was removed: no look-up finds it
  int waiters;           // threads that wait until it is compiled
  leat_status_t status;  // of one that FAILED
  // Written by the thread that compiles it; read by others only when it is READY.
  leat_compiled_t* compiled;
  uint8_t* argument_types;
  int argument_count, return_count;
  int64_t call_count;  // calls that a run counts as: itself and those whose body is in its graph
  int64_t next;        // the index of an earlier function whose key has the same hash, or -1
} function_t;

// An imported graph. A runtime of its own knows the graph's functions and, as one more, the graph.
typedef struct import_s {
  struct import_s* next;
  struct runtime_s* runtime;
  uint64_t handle;
  leat_master_options_t options;         // of |runtime|
  leat_graph_t* graph;                   // whose library |runtime| uses
  leat_string_view_t graph_def, device;  // what was imported, in the graph's storage
} import_t;

typedef struct runtime_s {
  leat_function_runtime_t base;
  const leat_master_options_t* master;
  leat_op_registry_t* ops;
  leat_graph_t* names;    // keeps the names and attributes of functions
  leat_mutex_t mutex;     // held while a function is looked up or entered, not while it compiles
  leat_condition_t changed;  // a function is no longer COMPILING
  leat_spinlock_t lock;   // guards |functions| and |count|
  _Atomic(leat_function_library_t*) library;
  _Atomic(int32_t) producer_version;  // of the graph that calls the functions
  import_t* imports;        // under the mutex; they stay
  struct runtime_s* known;  // another one, whose functions may be called as well; or NULL
  function_t** functions;  // by the lower half
  size_t count;
  size_t capacity;         // under the mutex
  leat_word_map_t newest;  // hash of a key -> the function added last with it; under the mutex
} runtime_t;

// Whether two names mean the same function. Attributes may come in any order.
static bool is_same(const leat_function_name_t* a, const leat_function_name_t* b) {
  const leat_attr_value_t values[] = {{.kind = LEAT_ATTR_FUNCTION, .function = a},
                                      {.kind = LEAT_ATTR_FUNCTION, .function = b}};
  return leat_attr_value_equal(&values[0], &values[1]);
}

// The hash of what a function is known by.
static uint64_t hash_key(const leat_function_name_t* function, leat_string_view_t device) {
  const leat_attr_value_t value = {.kind = LEAT_ATTR_FUNCTION, .function = function};
  return leat_hash_mix(leat_attr_value_hash(&value), leat_string_view_hash(device));
}

// The index of the function that was added last with a key of that hash, or -1 where there is none.
static int64_t find_newest(const runtime_t* r, uint64_t hash) {
  uint64_t index = 0;
  return leat_word_map_get(&r->newest, hash, &index) ? (int64_t)index : -1;
}

// The index of a function that was entered before, or -1. The mutex is held.
static int64_t find(const runtime_t* r, const leat_function_name_t* function,
                    leat_string_view_t device, uint64_t hash) {
  int64_t i = find_newest(r, hash);
  for (; i >= 0; i = r->functions[i]->next) {
    LEAT_DCHECK((size_t)i < r->count);
    const function_t* f = r->functions[i];
    if (f->forgotten || !leat_string_view_equal(f->device, device)) continue;
    if (is_same(&f->function, function)) break;
  }
  return i;
}

// Copies the name, the attributes and the device, which the caller lends only for the call. Where
// there are other tasks, nodes are told from those of other functions by their names: TensorFlow's
// keep a stateful kernel for all nodes of its name in a session. They are not called after the
// function, whose name need not be one for nodes ("<lambda>").
static leat_status_t copy_key(runtime_t* r, const leat_function_name_t* function,
                              leat_string_view_t device, function_t* f) {
  leat_attr_value_t value = {.kind = LEAT_ATTR_FUNCTION, .function = function}, copy;
  LEAT_RETURN_IF_ERROR(leat_graph_storage_copy_value(r->names->storage, &value, &copy));
  f->function = *copy.function;
  if (r->master->worker_count > 1) {
    LEAT_RETURN_IF_ERROR(
        leat_arena_print(leat_graph_arena(r->names), &f->scope, "function_%zu/", r->count));
  }
  return leat_graph_storage_copy_text(r->names->storage, device, &f->device);
}

// Prunes the body to what its returns and side effects need; frees the body's graph in any case.
static leat_status_t make_rewrite(const leat_body_graph_t* body, leat_rewrite_t* out_rewrite) {
  leat_status_t status = leat_prune(body->graph, NULL, 0, body->returns, body->return_count,
                                    body->targets, body->target_count, out_rewrite);
  leat_graph_free(body->graph);
  return status;
}

// Builds the function's body as a graph and compiles it.
static leat_status_t compile(runtime_t* r, function_t* f) {
  leat_body_graph_t body;
  leat_rewrite_t rewrite;
  leat_function_library_t* library = atomic_load_explicit(&r->library, memory_order_acquire);
  int32_t version = atomic_load_explicit(&r->producer_version, memory_order_relaxed);
  const leat_body_options_t named = {.scope = f->scope, .device = f->device, .gate = -1};
  LEAT_RETURN_IF_ERROR(leat_body_graph_create(r->ops, library, version, &f->function, &named,
                                              r->master->allocator, NULL, &body));
  leat_status_t status =
      LEAT_ALLOCATE(r->master->allocator, (size_t)body.argument_count + 1, &f->argument_types);
  if (status) {
    leat_graph_free(body.graph);
    return status;
  }
  // The arguments are the first nodes of the body's graph.
  for (int i = 0; i < body.argument_count; ++i) {
    LEAT_DCHECK(body.graph->nodes[i].op->flags & LEAT_OP_ARGUMENT);
    f->argument_types[i] = body.graph->nodes[i].output_types[0];
  }
  f->argument_count = body.argument_count;
  f->return_count = body.return_count;
  f->call_count = body.call_count;
  LEAT_RETURN_IF_ERROR(make_rewrite(&body, &rewrite));
  leat_master_options_t options = *r->master;
  options.keeps_partitions = false;  // nobody asks for those of a function
  return leat_master_compile(&options, &rewrite, f->argument_count, NULL, &f->compiled);
}

static void forget_compiled(leat_allocator_t* allocator, function_t* f) {
  leat_compiled_free(f->compiled);
  leat_allocator_free(allocator, f->argument_types);
  f->compiled = NULL;
  f->argument_types = NULL;
}

static void free_function(leat_allocator_t* allocator, function_t* f) {
  LEAT_DCHECK(f->waiters == 0 && f->state != FUNCTION_COMPILING);
  forget_compiled(allocator, f);
  leat_status_free(f->status);
  leat_allocator_free(allocator, f);
}

// Makes room for one more function. The mutex is held, so that only this thread changes the array;
// the spinlock is taken for the exchange alone, as nothing may be allocated or freed under one.
static leat_status_t make_room(runtime_t* r) {
  if (r->count < r->capacity) return leat_ok_status();
  leat_allocator_t* allocator = r->master->allocator;
  size_t capacity = r->capacity ? 2 * r->capacity : 8;
  function_t** functions;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, capacity, &functions));
  if (r->count) memcpy(functions, r->functions, r->count * sizeof *functions);
  function_t** former = r->functions;
  leat_spinlock_lock(&r->lock);
  r->functions = functions;
  leat_spinlock_unlock(&r->lock);
  r->capacity = capacity;
  leat_allocator_free(allocator, former);
  return leat_ok_status();
}

// Adds a function, which is ABSENT, to the list. The mutex is held.
static leat_status_t enter(runtime_t* r, const leat_function_name_t* function,
                           leat_string_view_t device, uint64_t hash, int64_t* out_index) {
  function_t* f;
  LEAT_RETURN_IF_ERROR(make_room(r));
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(r->master->allocator, 1, &f));
  f->next = find_newest(r, hash);
  leat_status_t status = copy_key(r, function, device, f);
  if (!status) status = leat_word_map_set(&r->newest, hash, r->count);
  if (status) {
    leat_allocator_free(r->master->allocator, f);
    return status;
  }
  *out_index = (int64_t)r->count;
  leat_spinlock_lock(&r->lock);
  r->functions[r->count++] = f;
  leat_spinlock_unlock(&r->lock);
  return status;
}

// Called with the mutex held, which is let go while the function is compiled.
static leat_status_t compile_entry(runtime_t* r, function_t* f) {
  LEAT_DCHECK(f->state == FUNCTION_ABSENT && f->waiters == 0 && !f->compiled);
  f->state = FUNCTION_COMPILING;
  leat_mutex_unlock(&r->mutex);
  leat_status_t status = compile(r, f);
  if (status) forget_compiled(r->master->allocator, f);
  leat_mutex_lock(&r->mutex);
  f->state = !status ? FUNCTION_READY : f->waiters ? FUNCTION_FAILED : FUNCTION_ABSENT;
  if (f->state == FUNCTION_FAILED) f->status = leat_status_clone(status);
  leat_condition_notify_all(&r->changed);
  return status;
}

// Called with the mutex held, which is let go meanwhile. Returns how the compilation ended that
// runs, or whose failure somebody still has to read; the last who reads a failure forgets it.
static leat_status_t wait_for(runtime_t* r, function_t* f) {
  LEAT_DCHECK(f->state == FUNCTION_COMPILING || f->state == FUNCTION_FAILED);
  ++f->waiters;
  while (f->state == FUNCTION_COMPILING) leat_condition_wait(&r->changed, &r->mutex);
  leat_status_t status = leat_ok_status();
  if (f->state == FUNCTION_FAILED) status = leat_status_clone(f->status);
  if (--f->waiters == 0 && f->state == FUNCTION_FAILED) {
    leat_status_free(f->status);
    f->status = leat_ok_status();
    f->state = FUNCTION_ABSENT;
  }
  return status;
}

static leat_status_t instantiate(leat_function_runtime_t* self,
                                 const leat_function_name_t* function, leat_string_view_t device,
                                 uint64_t* out_handle) {
  runtime_t* r = (runtime_t*)self;
  const uint64_t hash = hash_key(function, device);
  leat_status_t status = leat_ok_status();
  leat_mutex_lock(&r->mutex);
  int64_t index = find(r, function, device, hash);
  if (index < 0) status = enter(r, function, device, hash, &index);
  if (!status) {
    function_t* f = r->functions[index];
    if (f->state == FUNCTION_ABSENT) {
      status = compile_entry(r, f);
    } else if (f->state != FUNCTION_READY) {
      status = wait_for(r, f);
    }
    LEAT_DCHECK(status || f->state == FUNCTION_READY);
  }
  leat_mutex_unlock(&r->mutex);
  *out_handle = r->base.number << 32 | (uint64_t)(uint32_t)index;
  return leat_status_annotate(status, "Calling function '%.*s' failed",
                              LEAT_SV_ARG(function->name));
}

static leat_status_t count_calls(const function_t* f, _Atomic(int64_t)* calls) {
  int64_t before = atomic_fetch_add_explicit(calls, f->call_count, memory_order_relaxed);
  if (LEAT_LIKELY(before <= LEAT_MAX_FUNCTION_CALLS - f->call_count)) return leat_ok_status();
  return leat_make_status(LEAT_RESOURCE_EXHAUSTED,
                          "Calling function '%.*s' failed: the step's calls of functions are %lld, "
                          "must be at most %d",
                          LEAT_SV_ARG(f->function.name), (long long)(before + f->call_count),
                          LEAT_MAX_FUNCTION_CALLS);
}

// Checks what cannot be known when the function is compiled: how deep calls are nested, and the
// number and types of the arguments.
static leat_status_t check(const function_t* f, const leat_function_call_t* call) {
  if (call->caller->function_depth >= LEAT_MAX_FUNCTION_DEPTH) {
    return leat_make_status(LEAT_RESOURCE_EXHAUSTED,
                            "Calling function '%.*s' failed: calls are nested %d deep, must be "
                            "at most %d",
                            LEAT_SV_ARG(f->function.name), call->caller->function_depth + 1,
                            LEAT_MAX_FUNCTION_DEPTH);
  }
  if (call->argument_count != f->argument_count || call->return_count != f->return_count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Calling function '%.*s' failed: it is called with %d arguments for %d "
                            "returns, must be %d and %d",
                            LEAT_SV_ARG(f->function.name), call->argument_count,
                            call->return_count, f->argument_count, f->return_count);
  }
  for (int i = 0; i < f->argument_count; ++i) {
    if (call->arguments[i].dtype == f->argument_types[i]) continue;
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Calling function '%.*s' failed: argument %d is of type %s, must be %s",
                            LEAT_SV_ARG(f->function.name), i,
                            leat_dtype_name(call->arguments[i].dtype),
                            leat_dtype_name(f->argument_types[i]));
  }
  return leat_ok_status();
}

// This runtime, the one that it knows, or that of a graph which they or these have imported; NULL
// where |number| is of another session's.
static runtime_t* find_runtime(runtime_t* r, uint64_t number) {
  if (LEAT_LIKELY(r->base.number == number)) return r;
  runtime_t* found = r->known ? find_runtime(r->known, number) : NULL;
  leat_mutex_lock(&r->mutex);
  for (import_t* import = r->imports; import && !found; import = import->next) {
    found = find_runtime(import->runtime, number);
  }
  leat_mutex_unlock(&r->mutex);
  return found;
}

// Finds the function of a handle. The handle may come from another session's runtime, brought by a
// value that outlives its session, such as a dataset.
static leat_status_t read_handle(runtime_t* r, uint64_t handle, const function_t** out_function) {
  runtime_t* owner = find_runtime(r, handle >> 32);
  if (!owner) {
    return leat_make_status(LEAT_FAILED_PRECONDITION,
                            "Calling a function failed: it is another session's, must be this "
                            "one's");
  }
  leat_spinlock_lock(&owner->lock);
  LEAT_DCHECK((uint32_t)handle < owner->count);
  *out_function = owner->functions[(uint32_t)handle];
  leat_spinlock_unlock(&owner->lock);
  return leat_ok_status();
}

// Starts a call; |done| hears of its end, or at once of a call that is refused. The call shares the
// caller's deadline, cancellation and count of calls.
static void run(leat_function_runtime_t* self, uint64_t handle, const leat_function_call_t* call,
                leat_function_done_fn_t done, void* data) {
  runtime_t* r = (runtime_t*)self;
  const function_t* f = NULL;
  leat_status_t status = read_handle(r, handle, &f);
  if (!status) status = check(f, call);
  _Atomic(int64_t)* calls = call->calls ? call->calls : call->caller->calls;
  if (!status && calls) status = count_calls(f, calls);
  if (status) {
    done(data, status);
    return;
  }
  const leat_step_services_t* caller = call->caller;
  // A handle is given out only when the function has been compiled.
  LEAT_DCHECK(f->compiled);
  leat_compiled_call_t started = {
      .feeds = call->arguments,
      .fetches = call->returns,
      .deadline_ns = caller->deadline_ns ? caller->deadline_ns : INT64_MAX,
      .step_id = call->step_id,
      .leaves_cleanup = call->step_id != 0,
      .container_step_id = caller->container_step_id,
      .function_depth = caller->function_depth + 1,
      .calls = calls,
      .draw_counts = call->draw_counts ? call->draw_counts : caller->draw_counts,
      .cancellation = caller->cancellation,
      .collector = caller->collector,
  };
  leat_compiled_start(f->compiled, &started, done, data);
}

static leat_status_t signature(leat_function_runtime_t* self, uint64_t handle, int* out_arguments,
                               int* out_returns) {
  const function_t* f = NULL;
  LEAT_RETURN_IF_ERROR(read_handle((runtime_t*)self, handle, &f));
  *out_arguments = f->argument_count;
  *out_returns = f->return_count;
  return leat_ok_status();
}

static leat_status_t hash(leat_function_runtime_t* self, uint64_t* out_hash) {
  const leat_function_library_t* library =
      atomic_load_explicit(&((runtime_t*)self)->library, memory_order_acquire);
  return leat_function_library_hash(library, out_hash);
}

// ---- Graphs -------------------------------------------------------------------------------------

static leat_status_t find_library(void* data, const leat_described_node_t* node,
                                  const leat_function_library_t** out_library) {
  runtime_t* owner = find_runtime(data, node->functions);
  if (!owner) {
    return leat_make_status(LEAT_FAILED_PRECONDITION,
                            "node '%.*s' (%.*s) names functions of another session, must be this "
                            "one's",
                            LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op));
  }
  *out_library = atomic_load_explicit(&owner->library, memory_order_acquire);
  return leat_ok_status();
}

static leat_status_t export_graph(leat_function_runtime_t* self,
                                  const leat_described_node_t* nodes, int count,
                                  leat_string_builder_t* out, leat_string_view_t* out_stateful) {
  runtime_t* r = (runtime_t*)self;
  return leat_described_graph_write(r->ops, nodes, count, find_library, r, out, out_stateful);
}

static leat_status_t create(const leat_master_options_t* master, leat_op_registry_t* ops,
                            leat_background_t* background, runtime_t** out_runtime);
static void free_runtime(runtime_t* r);

static void free_import(import_t* import) {
  leat_allocator_t* allocator = import->options.allocator;
  free_runtime(import->runtime);
  leat_graph_free(import->graph);
  leat_allocator_free(allocator, import);
}

// Imports the graph and compiles what it returns.
static leat_status_t compile_import(import_t* import, leat_string_view_t graph_def, int dtype,
                                    leat_string_view_t device) {
  runtime_t* r = import->runtime;
  leat_rewrite_t rewrite;
  leat_output_t fetch;
  int64_t index = 0;
  LEAT_RETURN_IF_ERROR(leat_returning_graph_read(r->ops, r->master->allocator, graph_def, dtype,
                                                 device, &import->graph, &fetch));
  leat_graph_storage_t* storage = import->graph->storage;
  LEAT_RETURN_IF_ERROR(leat_graph_storage_copy_text(storage, graph_def, &import->graph_def));
  LEAT_RETURN_IF_ERROR(leat_graph_storage_copy_text(storage, device, &import->device));
  leat_master_functions_set_library(&r->base, import->graph->functions,
                                    import->graph->producer_version);
  const leat_function_name_t name = {.name = LEAT_SV("the imported graph")};
  LEAT_RETURN_IF_ERROR(enter(r, &name, import->device, 0, &index));
  function_t* f = r->functions[index];
  f->forgotten = true;  // no node finds it by its name
  LEAT_RETURN_IF_ERROR(leat_prune(import->graph, NULL, 0, &fetch, 1, NULL, 0, &rewrite));
  LEAT_RETURN_IF_ERROR(leat_master_compile(r->master, &rewrite, 0, NULL, &f->compiled));
  f->return_count = 1;
  f->call_count = 1;
  f->state = FUNCTION_READY;
  import->handle = r->base.number << 32 | (uint64_t)index;
  return leat_ok_status();
}

static leat_status_t make_import(runtime_t* r, leat_string_view_t graph_def, int dtype,
                                 leat_string_view_t device, import_t** out_import) {
  leat_allocator_t* allocator = r->master->allocator;
  import_t* import;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, 1, &import));
  import->options = *r->master;
  import->options.keeps_partitions = false;
  leat_status_t status = create(&import->options, r->ops, r->base.background, &import->runtime);
  if (!status) {
    import->options.functions = &import->runtime->base;
    status = compile_import(import, graph_def, dtype, device);
  }
  if (status) {
    free_import(import);
    return leat_status_annotate(status, "Importing a graph failed");
  }
  *out_import = import;
  return status;
}

// The import of the same graph for the same device, or NULL. The mutex is held.
static import_t* find_import(const runtime_t* r, leat_string_view_t graph_def,
                             leat_string_view_t device) {
  import_t* import = r->imports;
  while (import && !(leat_string_view_equal(import->graph_def, graph_def) &&
                     leat_string_view_equal(import->device, device))) {
    import = import->next;
  }
  return import;
}

// Two threads that import one graph at the same time both compile it; one of the two is dropped.
static leat_status_t import_graph(leat_function_runtime_t* self, leat_string_view_t graph_def,
                                  int dtype, leat_string_view_t device, uint64_t* out_handle) {
  runtime_t* r = (runtime_t*)self;
  import_t* made = NULL;
  leat_mutex_lock(&r->mutex);
  import_t* import = find_import(r, graph_def, device);
  leat_mutex_unlock(&r->mutex);
  if (!import) {
    LEAT_RETURN_IF_ERROR(make_import(r, graph_def, dtype, device, &made));
    leat_mutex_lock(&r->mutex);
    import = find_import(r, graph_def, device);
    if (!import) {
      made->next = r->imports;
      r->imports = import = made;
      made = NULL;
    }
    leat_mutex_unlock(&r->mutex);
    if (made) free_import(made);
  }
  *out_handle = import->handle;
  return leat_ok_status();
}

// ---- The runtime --------------------------------------------------------------------------------

static const leat_function_runtime_vtable_t kVtable = {
    instantiate, signature, hash, run, export_graph, import_graph};

static leat_status_t create(const leat_master_options_t* master, leat_op_registry_t* ops,
                            leat_background_t* background, runtime_t** out_runtime) {
  runtime_t* r;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(master->allocator, 1, &r));
  leat_status_t status = leat_graph_create(ops, master->allocator, &r->names);
  if (status) {
    leat_allocator_free(master->allocator, r);
    return status;
  }
  static _Atomic(uint32_t) next_number = 1;
  leat_background_retain(background);
  r->base = (leat_function_runtime_t){&kVtable, next_number++, background};
  r->master = master;
  r->ops = ops;
  leat_mutex_initialize(&r->mutex);
  leat_condition_initialize(&r->changed);
  leat_word_map_initialize(master->allocator, &r->newest);
  *out_runtime = r;
  return leat_ok_status();
}

leat_status_t leat_master_functions_create(const leat_master_options_t* master,
                                           leat_op_registry_t* ops,
                                           leat_function_runtime_t** out_functions) {
  runtime_t* r = NULL;
  leat_background_t* background;
  LEAT_RETURN_IF_ERROR(leat_background_create(master->allocator, &background));
  leat_status_t status = create(master, ops, background, &r);
  leat_background_release(background);
  *out_functions = r ? &r->base : NULL;
  return status;
}

void leat_master_functions_set_library(leat_function_runtime_t* functions,
                                       leat_function_library_t* library,
                                       int32_t producer_version) {
  runtime_t* r = (runtime_t*)functions;
  atomic_store_explicit(&r->producer_version, producer_version, memory_order_relaxed);
  atomic_store_explicit(&r->library, library, memory_order_release);
}

void leat_master_functions_know(leat_function_runtime_t* functions,
                                leat_function_runtime_t* other) {
  ((runtime_t*)functions)->known = (runtime_t*)other;
}

const leat_function_library_t* leat_master_functions_library(
    const leat_function_runtime_t* functions) {
  return atomic_load_explicit(&((runtime_t*)(uintptr_t)functions)->library, memory_order_acquire);
}

leat_string_view_t leat_master_functions_config(const leat_function_runtime_t* functions) {
  return ((const runtime_t*)functions)->master->config;
}

// The entries stay, because handles name them, but nobody finds them any more.
void leat_master_functions_forget(leat_function_runtime_t* functions, leat_string_view_t name) {
  runtime_t* r = (runtime_t*)functions;
  leat_mutex_lock(&r->mutex);
  for (size_t i = 0; i < r->count; ++i) {
    function_t* f = r->functions[i];
    if (leat_string_view_equal(f->function.name, name)) f->forgotten = true;
  }
  leat_mutex_unlock(&r->mutex);
}

static void free_runtime(runtime_t* r) {
  if (!r) return;
  leat_allocator_t* allocator = r->master->allocator;
  while (r->imports) {
    import_t* import = r->imports;
    r->imports = import->next;
    free_import(import);
  }
  leat_background_release(r->base.background);
  for (size_t i = 0; i < r->count; ++i) free_function(allocator, r->functions[i]);
  leat_allocator_free(allocator, r->functions);
  leat_word_map_deinitialize(&r->newest);
  leat_graph_free(r->names);
  leat_condition_deinitialize(&r->changed);
  leat_mutex_deinitialize(&r->mutex);
  leat_allocator_free(allocator, r);
}

void leat_master_functions_free(leat_function_runtime_t* functions) {
  if (!functions) return;
  leat_background_close(functions->background);
  free_runtime((runtime_t*)functions);
}
