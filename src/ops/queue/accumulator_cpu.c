// CPU kernels of accumulators of gradients, which make synchronous data-parallel training possible
// (section 7 of the white paper): workers apply gradients, and the chief takes their mean when
// enough have come. This file has what dense and sparse accumulators share, and the dense kind:
//
//   apply: local_step < global_step ?  drop the gradient (it is stale)
//          otherwise                   sum += gradient, count += 1
//   take:  waits until count >= required, then  global_step += 1, output sum / count, count = 0
//
// A worker reads the global step with the variables. A gradient with an older step was computed
// from variables that have since been updated; dropping it keeps a slow worker from spoiling the
// next update. A take waits in the accumulator's wait queue without a thread, and every apply lets
// it try again. The queue's lock also guards the sum, so that additions are made one after the
// other.
#include "ops/queue/accumulator_cpu.h"

#include "device/cpu/combine.h"
#include "device/cpu/half.h"
#include "ops/kernel_rows.h"

static void accumulator_destroy(leat_resource_t* resource) {
  leat_accumulator_t* accumulator = (leat_accumulator_t*)resource;
  accumulator->vtable->destroy(accumulator);
  leat_arena_deinitialize(&accumulator->arena);
  leat_wait_queue_deinitialize(&accumulator->wait_queue);
  leat_allocator_free(leat_allocator_system(), accumulator);
}

static const leat_resource_kind_t kAccumulatorKind = {.name = "ConditionalAccumulator",
                                                      .destroy = accumulator_destroy};

// ---- Making -------------------------------------------------------------------------------------

leat_status_t leat_accumulator_handle_create(leat_kernel_creation_t* c, void* state) {
  leat_accumulator_handle_t* h = state;
  leat_partial_shape_t shape;
  leat_string_view_t reduction;
  leat_arena_initialize(c->allocator, 256, &h->arena);
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_type(c, "dtype", &h->dtype));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_shape(c, "shape", &shape));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "reduction_type", &reduction));
  LEAT_RETURN_IF_ERROR(
      leat_partial_shape_create(shape.rank, shape.dims, &h->arena, &h->shape));
  h->mean = leat_string_view_equals(reduction, "MEAN");
  return leat_handle_initialize(c, &kAccumulatorKind, false, &h->handle);
}

void leat_accumulator_handle_destroy(void* state) {
  leat_accumulator_handle_t* h = state;
  leat_handle_deinitialize(&h->handle);
  if (h->arena.allocator) leat_arena_deinitialize(&h->arena);
}

leat_status_t leat_accumulator_create(const leat_accumulator_handle_t* handle,
                                      const leat_accumulator_vtable_t* vtable, size_t size_bytes,
                                      leat_accumulator_t** out_accumulator) {
  leat_accumulator_t* a;
  LEAT_RETURN_IF_ERROR(
      leat_allocator_allocate(leat_allocator_system(), size_bytes, (void**)&a));
  a->resource.kind = &kAccumulatorKind;
  a->resource.references = 1;
  a->vtable = vtable;
  a->dtype = handle->dtype;
  a->mean = handle->mean;
  leat_wait_queue_initialize(&a->resource, &a->wait_queue);
  leat_arena_initialize(leat_allocator_system(), 256, &a->arena);
  leat_status_t status =
      leat_partial_shape_create(handle->shape.rank, handle->shape.dims, &a->arena, &a->shape);
  if (status) {
    leat_resource_release(&a->resource);
    return status;
  }
  *out_accumulator = a;
  return leat_ok_status();
}

leat_status_t leat_accumulator_output_handle(leat_kernel_context_t* c,
                                             leat_resource_make_fn_t make) {
  leat_accumulator_handle_t* h = leat_kernel_state(c);
  leat_resource_t* accumulator;
  LEAT_RETURN_IF_ERROR(
      leat_handle_find_or_make(c, &h->handle, &kAccumulatorKind, make, h, &accumulator));
  leat_resource_release(accumulator);
  leat_handle_set_output(c, &h->handle);
  return leat_ok_status();
}

static leat_status_t find_accumulator(leat_kernel_context_t* c,
                                      leat_accumulator_t** out_accumulator) {
  return leat_handle_find(c, 0, &kAccumulatorKind, (leat_resource_t**)out_accumulator);
}

// Dense and sparse accumulators are one kind of resource, because TensorFlow counts and sets the
// steps of both with the same ops. Applying and taking gradients differ in their inputs and
// outputs, so those ops must find an accumulator whose functions are |vtable|.
static leat_status_t find_accumulator_of(leat_kernel_context_t* c,
                                         const leat_accumulator_vtable_t* vtable,
                                         leat_accumulator_t** out_accumulator) {
  LEAT_RETURN_IF_ERROR(find_accumulator(c, out_accumulator));
  if ((*out_accumulator)->vtable == vtable) return leat_ok_status();
  leat_status_t status =
      leat_kernel_invalid(c, "handle names a %s, must name a %s",
                          (*out_accumulator)->vtable->name, vtable->name);
  leat_resource_release(&(*out_accumulator)->resource);
  *out_accumulator = NULL;
  return status;
}

// ---- Arithmetic ---------------------------------------------------------------------------------

#define DIVIDE(name, type, widen, narrow)                                               \
  static void divide_##name(type* target, int64_t count, int64_t divisor) {             \
    type by = narrow((float)divisor);                                                   \
    for (int64_t i = 0; i < count; ++i) target[i] = narrow(widen(target[i]) / widen(by)); \
  }
#define AS_IS(x) (x)
DIVIDE(half, leat_half_t, leat_half_to_float, leat_half_from_float)
DIVIDE(float, float, AS_IS, AS_IS)
DIVIDE(double, double, AS_IS, AS_IS)

void leat_accumulator_divide(int dtype, void* target, int64_t count, int64_t divisor) {
  if (dtype == LEAT_DTYPE_FLOAT) divide_float(target, count, divisor);
  if (dtype == LEAT_DTYPE_DOUBLE) divide_double(target, count, divisor);
  if (dtype == LEAT_DTYPE_HALF) divide_half(target, count, divisor);
}

// ---- Applying -----------------------------------------------------------------------------------

typedef struct application_s {
  leat_accumulator_t* accumulator;
  leat_kernel_context_t* context;
  int64_t step;
  leat_status_t status;
} application_t;

// Adds the gradient, with the wait queue's lock held. A stale gradient is dropped without an error,
// as the worker that made it did nothing wrong.
static void apply(void* data) {
  application_t* application = data;
  leat_accumulator_t* a = application->accumulator;
  if (application->step < a->global_step) return;  // stale
  application->status = a->vtable->add(a, application->context);
  if (!application->status) ++a->count;
}

leat_status_t leat_accumulator_apply(leat_kernel_context_t* c,
                                     const leat_accumulator_vtable_t* vtable) {
  application_t application = {.context = c};
  LEAT_RETURN_IF_ERROR(find_accumulator_of(c, vtable, &application.accumulator));
  application.step = *leat_tensor_data(leat_kernel_input(c, 1), const int64_t);
  leat_wait_queue_change(&application.accumulator->wait_queue, apply, &application, 0);
  leat_resource_release(&application.accumulator->resource);
  return application.status;
}

static void set_step(void* data) {
  application_t* application = data;
  application->accumulator->global_step = application->step;
}

static leat_status_t set_global_step__cpu(leat_kernel_context_t* c) {
  application_t application = {.context = c};
  LEAT_RETURN_IF_ERROR(find_accumulator(c, &application.accumulator));
  application.step = *leat_tensor_data(leat_kernel_input(c, 1), const int64_t);
  leat_wait_queue_change(&application.accumulator->wait_queue, set_step, &application, 0);
  leat_resource_release(&application.accumulator->resource);
  return leat_ok_status();
}

static leat_status_t num_accumulated__cpu(leat_kernel_context_t* c) {
  leat_accumulator_t* a;
  LEAT_RETURN_IF_ERROR(find_accumulator(c, &a));
  leat_mutex_lock(&a->wait_queue.mutex);
  int64_t count = a->count;
  leat_mutex_unlock(&a->wait_queue.mutex);
  leat_resource_release(&a->resource);
  return leat_kernel_set_output_int32(c, 0, count);
}

// ---- Taking -------------------------------------------------------------------------------------

typedef struct taking_s {
  leat_attempt_t base;
  leat_kernel_context_t* context;
  leat_kernel_done_fn_t done;
  leat_accumulator_t* accumulator;
  int64_t required;
} taking_t;

// Takes the sum when enough gradients are there, with the wait queue's lock held. |take| moves the
// sum into the outputs, and |count| of 0 says that the next gradient begins a new one.
static leat_passage_t attempt_take(leat_attempt_t* self) {
  taking_t* taking = (taking_t*)self;
  leat_accumulator_t* a = taking->accumulator;
  if (a->count < taking->required) return LEAT_PASSAGE_WAITS;
  ++a->global_step;
  self->status = a->vtable->take(a, taking->context);
  if (!self->status) a->count = 0;
  return LEAT_PASSAGE_DONE;
}

static void finish_take(leat_attempt_t* self) {
  taking_t* taking = (taking_t*)self;
  taking->done(taking->context, self->status);
}

// Checks num_required, and that the output with number |values_output| has the accumulator's type.
static leat_status_t check_taking(const leat_kernel_context_t* c, const leat_accumulator_t* a,
                                  int values_output) {
  const leat_tensor_t* number = leat_kernel_input(c, 1);
  int32_t required = *leat_tensor_data(number, const int32_t);
  if (required <= 0) {
    return leat_kernel_invalid(c, "Argument num_required must be positive, but was %d", required);
  }
  if (leat_dtype_base(c->kernel->output_types[values_output]) == (leat_dtype_t)a->dtype) {
    return leat_ok_status();
  }
  return leat_kernel_invalid(c, "dtype is %s, must be the accumulator's, %s",
                             leat_dtype_name(c->kernel->output_types[values_output]),
                             leat_dtype_name(a->dtype));
}

// A kernel with several outputs is the sparse one, whose values are output 1; the dense one has
// output 0 alone.
void leat_accumulator_take(leat_kernel_context_t* c, leat_kernel_done_fn_t done,
                           const leat_accumulator_vtable_t* vtable) {
  taking_t taking = {.base = leat_attempt_of(c, sizeof taking), .context = c, .done = done};
  taking.base.attempt = attempt_take;
  taking.base.finish = finish_take;
  leat_accumulator_t* a = NULL;
  leat_status_t status = find_accumulator_of(c, vtable, &a);
  if (!status) status = check_taking(c, a, c->kernel->output_count > 1);
  if (status) {
    done(c, status);
  } else {
    taking.accumulator = a;
    taking.required = *leat_tensor_data(leat_kernel_input(c, 1), const int32_t);
    leat_wait_queue_enter(&a->wait_queue, LEAT_LINE_OUT, &taking.base);
  }
  leat_resource_release(a ? &a->resource : NULL);
}

// ---- Dense gradients ----------------------------------------------------------------------------

// The dense accumulator: the sum of the gradients since the last take.
typedef struct dense_s {
  leat_accumulator_t base;
  leat_tensor_t sum;
} dense_t;

static leat_status_t check_gradient(leat_kernel_context_t* c, const dense_t* dense) {
  const leat_tensor_t* gradient = leat_kernel_input(c, 2);
  if (gradient->dtype != dense->base.dtype) {
    return leat_kernel_invalid(c, "gradient is %s, must be the accumulator's type, %s",
                               leat_dtype_name(gradient->dtype),
                               leat_dtype_name(dense->base.dtype));
  }
  if (dense->base.count && !leat_shape_equal(&dense->sum.shape, &gradient->shape)) {
    return leat_kernel_invalid(c, "Shape mismatch: expected %s, got %s",
                               LEAT_SHAPE_TEXT(&dense->sum.shape),
                               LEAT_SHAPE_TEXT(&gradient->shape));
  }
  if (leat_partial_shape_admits(dense->base.shape, &gradient->shape)) return leat_ok_status();
  return leat_kernel_invalid(c, "Shape mismatch: expected %s, got %s",
                             LEAT_PARTIAL_SHAPE_TEXT(dense->base.shape),
                             LEAT_SHAPE_TEXT(&gradient->shape));
}

// The first gradient is copied, because later ones are added to the sum in place.
static leat_status_t dense_add(leat_accumulator_t* self, leat_kernel_context_t* c) {
  dense_t* dense = (dense_t*)self;
  const leat_tensor_t* gradient = leat_kernel_input(c, 2);
  LEAT_RETURN_IF_ERROR(check_gradient(c, dense));
  if (self->count) {
    leat_numbers_add(self->dtype, dense->sum.data, gradient->data, dense->sum.data,
                     gradient->shape.element_count);
    return leat_ok_status();
  }
  leat_tensor_release(&dense->sum);
  return leat_tensor_copy(c->services->memory, gradient, &dense->sum);
}

static leat_status_t dense_take(leat_accumulator_t* self, leat_kernel_context_t* c) {
  dense_t* dense = (dense_t*)self;
  if (self->mean) {
    leat_accumulator_divide(self->dtype, dense->sum.data, dense->sum.shape.element_count,
                            self->count);
  }
  leat_kernel_set_output(c, 0, leat_tensor_move(&dense->sum));
  return leat_ok_status();
}

static void dense_destroy(leat_accumulator_t* self) {
  leat_tensor_release(&((dense_t*)self)->sum);
}

static const leat_accumulator_vtable_t kDenseVtable = {
    .name = "ConditionalAccumulator",
    .add = dense_add,
    .take = dense_take,
    .destroy = dense_destroy};

static leat_status_t make_dense(void* data, leat_resource_t** out_resource) {
  leat_accumulator_t* accumulator;
  LEAT_RETURN_IF_ERROR(
      leat_accumulator_create(data, &kDenseVtable, sizeof(dense_t), &accumulator));
  *out_resource = &accumulator->resource;
  return leat_ok_status();
}

static leat_status_t accumulator__cpu(leat_kernel_context_t* c) {
  return leat_accumulator_output_handle(c, make_dense);
}

static leat_status_t apply__cpu(leat_kernel_context_t* c) {
  return leat_accumulator_apply(c, &kDenseVtable);
}

static void take__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  leat_accumulator_take(c, done, &kDenseVtable);
}

#define MAKER(name)                                                              \
  LEAT_CPU_KERNEL(name, "dtype: double, float, half", leat_accumulator_handle_t, \
                  leat_accumulator_handle_create, accumulator__cpu,              \
                  .destroy = leat_accumulator_handle_destroy)
#define ACCESS(prefix)                                                                    \
  {.op = prefix "NumAccumulated", .device_type = "CPU", .compute = num_accumulated__cpu}, \
  {.op = prefix "SetGlobalStep", .device_type = "CPU", .compute = set_global_step__cpu},  \
  {.op = prefix "ApplyGradient", .device_type = "CPU", .compute = apply__cpu},            \
  {.op = prefix "TakeGradient", .device_type = "CPU", .compute_async = take__cpu}

const leat_kernel_row_t leat_accumulator_kernels_cpu[] = {
    MAKER("ConditionalAccumulator"),
    MAKER("ResourceConditionalAccumulator"),
    ACCESS("Accumulator"),
    ACCESS("ResourceAccumulator"),
    LEAT_KERNEL_ROWS_END,
};
