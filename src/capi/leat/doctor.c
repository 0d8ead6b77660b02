// leat_doctor_json: what this machine and this library have (versions, number of ops and kernels,
// processor, caches, optional modules) and, on request, what they reach, as one JSON object. The
// command `leat doctor` prints it. Bug reports carry it, so that it names everything that decides
// which code runs: the instruction set, the matrix unit, and the versions of the modules that were
// found. A module that is missing is null in the object and no error.
//
// The measurements come first. Their purpose is to judge other measurements: a kernel's speed means
// something only beside the peak of the same machine at the same time. Therefore nothing here is a
// table of processors. Each speed is the best of several runs, since disturbances only ever make a
// run slower; the times of threads are means, because one of them is too short for the clock.
//
//     arithmetic   multiply-adds in registers; a matrix product by each implementation
//     memory       reading and copying 128 MiB, on one core and on all
//     threads      a sleeping thread that is woken; a spinning thread that sees a word change
//     step         TF_SessionRun of one Identity
#include "base/clock.h"
#include "base/cpu.h"
#include "base/host.h"
#include "base/thread.h"
#include "capi/handles.h"
#include "device/cpu/gemm.h"
#include "device/cpu/module.h"
#include "device/cpu/peak.h"
#include "formats/record/compression.h"
#include "formats/wire/json.h"
#include "kernel/registry.h"
#include "leat/inspect.h"

// Each figure is the best or the mean of several runs. Speeds are in 10^9 per second; "all" means
// all cores at the same time.
typedef struct figures_s {
  double multiply_add, multiply_add_all;  // float operations in registers
  // Floating-point operations of a 768 x 768 x 768 product on one core. 0: there is no such module
  // or matrix unit.
  double gemm_portable, gemm_onednn, gemm_matrix_unit;
  double read, read_all;                  // bytes from memory
  double copy, copy_all;                  // bytes read and written
  double futex_wake_us;                   // until a thread that sleeps on another core runs
  // until a thread that spins on another core sees a word change
  double handover_us;
  double null_step_us;                    // TF_SessionRun of one scalar through Identity
} figures_t;

#define BLOCK_BYTES ((size_t)128 << 20)  // larger than every cache
#define GEMM_SIZE 768
#define PEAK_ROUNDS 2000000
#define WAKES 500
#define HANDOVERS 20000
#define STEPS 4000

typedef struct bench_s {
  const leat_peak_functions_t* peak;
  leat_thread_pool_t* pool;
  int cores;
  char* from;
  char* to;
} bench_t;  // BLOCK_BYTES each; also the operands of the matrix products

// Does one run and returns its amount of work: operations, or bytes.
typedef double (*work_fn_t)(bench_t* bench);

// Returns the best rate of |runs| runs, in units of work per nanosecond.
static double best_rate(bench_t* bench, work_fn_t work, int runs) {
  double best = 0;
  for (int i = 0; i < runs; ++i) {
    int64_t begin = leat_clock_now_ns();
    double amount = work(bench);
    int64_t spent = leat_clock_now_ns() - begin;
    double rate = amount / (double)(spent > 0 ? spent : 1);
    if (rate > best) best = rate;
  }
  return best;
}

// ---- Arithmetic ---------------------------------------------------------------------------------

static double multiply_add(bench_t* b) { return b->peak->multiply_add(PEAK_ROUNDS); }

static void multiply_add_shard(void* data, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) multiply_add(data);
}

// Runs one piece of work on each core. The cost of a piece is set so high that the pool uses all
// threads.
static void on_all_cores(bench_t* b, leat_shard_fn_t shard) {
  leat_thread_pool_parallel_for(b->pool, 0, b->cores, 1e9, shard, b);
}

// The multiply_add(1) only tells how many operations a round has.
static double multiply_add_all(bench_t* b) {
  on_all_cores(b, multiply_add_shard);
  return b->peak->multiply_add(1) * PEAK_ROUNDS * b->cores;
}

static leat_gemm_shape_t gemm_shape(void) {
  return leat_gemm_shape_dense(LEAT_GEMM_PLAIN, LEAT_GEMM_PLAIN, GEMM_SIZE, GEMM_SIZE, GEMM_SIZE);
}

static double gemm_portable(bench_t* b) {
  const leat_gemm_shape_t shape = gemm_shape();
  leat_gemm_f32_portable(&shape, (float*)b->from, (float*)b->from, NULL, (float*)b->to, NULL,
                         NULL);
  return 2.0 * GEMM_SIZE * GEMM_SIZE * GEMM_SIZE;
}

// For shapes like this, leat_gemm_f32 uses the matrix unit where there is one.
static double gemm_matrix_unit(bench_t* b) {
  if (!leat_cpu_has_matrix_unit()) return 0;
  const leat_gemm_shape_t shape = gemm_shape();
  leat_gemm_f32(&shape, (float*)b->from, (float*)b->from, NULL, (float*)b->to, NULL, NULL);
  return 2.0 * GEMM_SIZE * GEMM_SIZE * GEMM_SIZE;
}

static double gemm_onednn(bench_t* b) {
  const int64_t n = GEMM_SIZE;
  const leat_onednn_module_t* module = leat_cpu_onednn();
  if (!module) return 0;
  int code = module->gemm_f32(false, false, n, n, n, 1, (float*)b->from, n, (float*)b->from, n, 0,
                              (float*)b->to, n);
  return code ? 0 : 2.0 * GEMM_SIZE * GEMM_SIZE * GEMM_SIZE;
}

// ---- Memory -------------------------------------------------------------------------------------

// Where the |index|-th core's part of the blocks begins; parts begin at multiples of 512 bytes.
static size_t block_begin(const bench_t* b, int64_t index) {
  return BLOCK_BYTES / (size_t)b->cores * (size_t)index & ~(size_t)511;
}

static void read_shard(void* data, int64_t begin, int64_t end) {
  static _Atomic uint64_t sink;  // keeps the compiler from dropping the reads
  bench_t* b = data;
  size_t first = block_begin(b, begin);
  atomic_fetch_add(&sink, b->peak->read(b->from + first, block_begin(b, end) - first));
}

static void copy_shard(void* data, int64_t begin, int64_t end) {
  bench_t* b = data;
  size_t first = block_begin(b, begin);
  memcpy(b->to + first, b->from + first, block_begin(b, end) - first);
}

static double read_one(bench_t* b) {
  read_shard(b, 0, b->cores);
  return (double)block_begin(b, b->cores);
}

static double read_all(bench_t* b) {
  on_all_cores(b, read_shard);
  return (double)block_begin(b, b->cores);
}

static double copy_one(bench_t* b) {
  copy_shard(b, 0, b->cores);
  return 2 * (double)block_begin(b, b->cores);
}

static double copy_all(bench_t* b) {
  on_all_cores(b, copy_shard);
  return 2 * (double)block_begin(b, b->cores);
}

// ---- Threads ------------------------------------------------------------------------------------

// Two threads that call each other. The calling thread spins until it is answered, as a thread in a
// step would; therefore the sleeping thread wakes up on another core where there is one.
typedef struct pair_s {
  leat_mutex_t mutex;
  leat_condition_t condition;
  int calls;            // guarded by the mutex
  _Atomic int answers;
  _Atomic int turn;     // of the spinning measurement: whose turn it is, by parity
} pair_t;

static void answer_calls(void* data) {
  pair_t* pair = data;
  for (int next = 1; next <= WAKES; ++next) {
    leat_mutex_lock(&pair->mutex);
    while (pair->calls < next) leat_condition_wait(&pair->condition, &pair->mutex);
    leat_mutex_unlock(&pair->mutex);
    atomic_store(&pair->answers, next);
  }
}

// Spins until |*word| is |value|. After a millisecond it also sleeps: on a single core the other
// thread needs the processor.
static void wait_for(_Atomic int* word, int value) {
  int64_t patience = leat_clock_now_ns() + 1000000;
  while (atomic_load(word) != value) {
    leat_cpu_relax();
    if (leat_clock_now_ns() > patience) leat_clock_sleep_ns(1);
  }
}

static int64_t call_and_wait(pair_t* pair) {
  int64_t spent = 0;
  for (int next = 1; next <= WAKES; ++next) {
    leat_clock_sleep_ns(100000);  // long enough for the other thread to sleep again
    int64_t begin = leat_clock_now_ns();
    leat_mutex_lock(&pair->mutex);
    pair->calls = next;
    leat_condition_notify_one(&pair->condition);
    leat_mutex_unlock(&pair->mutex);
    wait_for(&pair->answers, next);
    spent += leat_clock_now_ns() - begin;
  }
  return spent / WAKES;
}

// Waits for every other number of |turn| and passes it on, HANDOVERS in all.
static void take_turns(pair_t* pair, int parity) {
  for (int next = parity; next < HANDOVERS; next += 2) {
    wait_for(&pair->turn, next);
    atomic_store(&pair->turn, next + 1);
  }
}

static void answer_turns(void* data) { take_turns(data, 1); }

static int64_t hand_over(pair_t* pair) {
  int64_t begin = leat_clock_now_ns();
  take_turns(pair, 0);
  wait_for(&pair->turn, HANDOVERS);
  return (leat_clock_now_ns() - begin) / HANDOVERS;
}

// Starts a thread that runs |answer| and gives the time of |measure| in microseconds.
static leat_status_t measure_pair(leat_thread_fn_t answer, int64_t (*measure)(pair_t* pair),
                                  double* out_us) {
  pair_t pair = {.calls = 0};
  leat_thread_t thread;
  leat_mutex_initialize(&pair.mutex);
  leat_condition_initialize(&pair.condition);
  leat_status_t status = leat_thread_start("leat-doctor", answer, &pair, &thread);
  if (!status) {
    *out_us = (double)measure(&pair) / 1e3;
    leat_thread_join(thread);
  }
  leat_condition_deinitialize(&pair.condition);
  leat_mutex_deinitialize(&pair.mutex);
  return status;
}

// ---- A step -------------------------------------------------------------------------------------

static void time_steps(TF_Session* session, TF_Output x, TF_Output y, TF_Status* status,
                       double* out_us) {
  TF_Tensor* fed = TF_AllocateTensor(TF_FLOAT, NULL, 0, sizeof(float));
  int64_t begin = 0;
  if (!fed) {
    TF_SetStatus(status, TF_RESOURCE_EXHAUSTED, "Memory for a scalar ran out");
    return;
  }
  *(float*)TF_TensorData(fed) = 1;
  // The first quarter of the steps is not timed: it compiles the step and warms the caches.
  for (int i = -STEPS / 4; i < STEPS && TF_GetCode(status) == TF_OK; ++i) {
    TF_Tensor* fetched = NULL;
    if (i == 0) begin = leat_clock_now_ns();
    TF_SessionRun(session, NULL, &x, &fed, 1, &y, &fetched, 1, NULL, 0, NULL, status);
    TF_DeleteTensor(fetched);
  }
  *out_us = (double)(leat_clock_now_ns() - begin) / 1e3 / STEPS;
  TF_DeleteTensor(fed);
}

// Builds y = Identity(x). |out_y| has no operation when that failed.
static void add_identity(TF_Graph* graph, TF_Output* out_x, TF_Output* out_y, TF_Status* status) {
  TF_OperationDescription* description = TF_NewOperation(graph, "Placeholder", "x");
  TF_SetAttrType(description, "dtype", TF_FLOAT);
  *out_x = *out_y = (TF_Output){TF_FinishOperation(description, status), 0};
  if (!out_x->oper) return;
  description = TF_NewOperation(graph, "Identity", "y");
  TF_AddInput(description, *out_x);
  out_y->oper = TF_FinishOperation(description, status);
}

// Measures the smallest step, through the C API, as a client sees it.
static leat_status_t measure_step(double* out_us) {
  TF_Status* status = TF_NewStatus();
  TF_Graph* graph = TF_NewGraph();
  TF_SessionOptions* options = TF_NewSessionOptions();
  leat_status_t result =
      leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory for a session ran out");
  if (status && graph && options) {
    TF_Output x, y;
    add_identity(graph, &x, &y, status);
    TF_Session* session = y.oper ? TF_NewSession(graph, options, status) : NULL;
    if (session) time_steps(session, x, y, status, out_us);
    leat_status_free(result);
    result = leat_status_clone(status->status);
    if (session) TF_DeleteSession(session, status);
  }
  TF_DeleteSessionOptions(options);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
  return result;
}

// ---- All measurements ---------------------------------------------------------------------------

static leat_status_t open_bench(bench_t* b) {
  leat_allocator_t* allocator = leat_allocator_system();
  b->peak = LEAT_ISA_SELECT(leat_peak);
  b->cores = leat_cpu_count();
  LEAT_RETURN_IF_ERROR(leat_thread_pool_create(0, allocator, &b->pool));
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_uninitialized(allocator, 4096, BLOCK_BYTES,
                                                             (void**)&b->from));
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_uninitialized(allocator, 4096, BLOCK_BYTES,
                                                             (void**)&b->to));
  // gives every page memory of its own: fresh pages share one page of zeros
  memset(b->from, 0, BLOCK_BYTES);
  memset(b->to, 0, BLOCK_BYTES);
  return leat_ok_status();
}

static void close_bench(bench_t* b) {
  leat_allocator_free(leat_allocator_system(), b->from);
  leat_allocator_free(leat_allocator_system(), b->to);
  leat_thread_pool_release(b->pool);
}

// Takes all measurements, one after the other, so that none disturbs another.
static leat_status_t measure_all(figures_t* f) {
  bench_t bench = {0};
  leat_status_t status = open_bench(&bench);
  if (!status) {
    f->multiply_add = best_rate(&bench, multiply_add, 8);
    f->multiply_add_all = best_rate(&bench, multiply_add_all, 8);
    f->gemm_portable = best_rate(&bench, gemm_portable, 12);
    f->gemm_onednn = best_rate(&bench, gemm_onednn, 12);
    f->gemm_matrix_unit = best_rate(&bench, gemm_matrix_unit, 12);
    f->read = best_rate(&bench, read_one, 6);
    f->read_all = best_rate(&bench, read_all, 6);
    f->copy = best_rate(&bench, copy_one, 4);
    f->copy_all = best_rate(&bench, copy_all, 4);
    status = measure_pair(answer_calls, call_and_wait, &f->futex_wake_us);
  }
  if (!status) status = measure_pair(answer_turns, hand_over, &f->handover_us);
  if (!status) status = measure_step(&f->null_step_us);
  close_bench(&bench);
  return status;
}

// ---- The report ---------------------------------------------------------------------------------

static void append_text(leat_string_builder_t* out, const char* name, const char* value) {
  leat_string_builder_print(out, "  \"%s\": ", name);
  leat_json_append_string(out, leat_string_view_from(value));
  leat_string_builder_append(out, LEAT_SV(",\n"));
}

static void append_number(leat_string_builder_t* out, const char* name, double value) {
  leat_string_builder_print(out, "  \"%s\": ", name);
  leat_json_append_number(out, value);
  leat_string_builder_append(out, LEAT_SV(",\n"));
}

static leat_status_t count_row(void* data, const leat_kernel_row_t* row) {
  ++*(int*)data;
  return leat_ok_status();
}

static leat_status_t append_library(leat_string_builder_t* out) {
  const leat_runtime_t* runtime = NULL;
  int kernels = 0;
  LEAT_RETURN_IF_ERROR(leat_runtime_get(&runtime));
  LEAT_RETURN_IF_ERROR(
      leat_kernel_registry_each(runtime->kernels, LEAT_SV(""), count_row, &kernels));
  append_text(out, "version", leat_version());
  append_text(out, "tensorflow", TF_Version());
  append_number(out, "ops", leat_op_registry_count(runtime->ops));
  append_number(out, "kernels", kernels);
  return leat_ok_status();
}

static void append_machine(leat_string_builder_t* out) {
  char name[256];
  leat_host_name(name, sizeof name);
  append_text(out, "host", name);
  leat_cpu_name(name, sizeof name);
  append_text(out, "cpu", name);
  append_text(out, "isa", leat_isa_name(leat_cpu_isa()));
  append_text(out, "matrix_unit", leat_cpu_has_matrix_unit() ? "amx" : "none");
  append_number(out, "cores", leat_cpu_count());
  append_number(out, "l1_bytes", (double)leat_cpu_l1_bytes());
  append_number(out, "l2_bytes", (double)leat_cpu_l2_bytes());
}

// Appends a member for a module: its version, or null where the module was not found.
static void append_module(leat_string_builder_t* out, const char* name, const char* version) {
  leat_string_builder_print(out, "\"%s\": ", name);
  if (version) {
    leat_json_append_string(out, leat_string_view_from(version));
  } else {
    leat_string_builder_append(out, LEAT_SV("null"));
  }
}

static void append_modules(leat_string_builder_t* out) {
  const leat_onednn_module_t* onednn = leat_cpu_onednn();
  const leat_zlib_module_t* zlib = leat_compression_module();
  leat_string_builder_append(out, LEAT_SV("  \"modules\": {"));
  append_module(out, "onednn", onednn ? onednn->version : NULL);
  leat_string_builder_append(out, LEAT_SV(", "));
  append_module(out, "zlib", zlib ? zlib->version : NULL);
  leat_string_builder_append(out, LEAT_SV("}"));
}

static leat_status_t append_figures(leat_string_builder_t* out) {
  figures_t f = {0};
  LEAT_RETURN_IF_ERROR(measure_all(&f));
  const struct {
    const char* name;
    double value;
  } figures[] = {
      {"peak_gflops", f.multiply_add},
      {"peak_gflops_all_cores", f.multiply_add_all},
      {"gemm_portable_gflops", f.gemm_portable},
      {"gemm_onednn_gflops", f.gemm_onednn},
      {"gemm_matrix_unit_gflops", f.gemm_matrix_unit},
      {"read_gb_per_s", f.read},
      {"read_gb_per_s_all_cores", f.read_all},
      {"copy_gb_per_s", f.copy},
      {"copy_gb_per_s_all_cores", f.copy_all},
      {"futex_wake_us", f.futex_wake_us},
      {"handover_us", f.handover_us},
      {"null_step_us", f.null_step_us},
  };
  leat_string_builder_append(out, LEAT_SV(",\n  \"measured\": {\n"));
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(figures); ++i) {
    leat_string_builder_print(out, "    \"%s\": %.4g%s\n", figures[i].name, figures[i].value,
                              i + 1 < LEAT_ARRAY_SIZE(figures) ? "," : "");
  }
  leat_string_builder_append(out, LEAT_SV("  }"));
  return leat_ok_status();
}

TF_Buffer* leat_doctor_json(int measure, TF_Status* status) {
  leat_string_builder_t out;
  leat_string_builder_initialize(leat_allocator_system(), &out);
  leat_string_builder_append(&out, LEAT_SV("{\n"));
  leat_status_t result = append_library(&out);
  append_machine(&out);
  append_modules(&out);
  if (!result && measure) result = append_figures(&out);
  leat_string_builder_append(&out, LEAT_SV("\n}\n"));
  return leat_capi_buffer_return(result, &out, status);
}
