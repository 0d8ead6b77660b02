// CPU kernels that turn sparse tensors into dense tensors of strings or variants and back. A sparse
// tensor becomes three elements: indices, values and dense shape. A string holds a TensorProto
// message, which can go to a file; a variant holds the tensor itself, so nothing is copied.
//
//   SerializeSparse      sparse -> [3]
//   SerializeManySparse  batch of rows -> [rows, 3]
//   DeserializeSparse    [..., 3] -> one sparse tensor, whose first dimensions come before the 3
//
// Strings may come from anywhere, so what they hold is checked in the same way as inputs are.
#include "kernel/boxed_tensors.h"
#include "ops/input/serialized_tensor_cpu.h"
#include "ops/kernel_rows.h"
#include "ops/sparse/entries_cpu.h"

// ---- Writing ------------------------------------------------------------------------------------

// Writes |tensor| to element |index| of |target|, as a message or shared in a variant.
static leat_status_t write_tensor(const leat_tensor_t* tensor, leat_tensor_t* target,
                                  int64_t index) {
  leat_boxed_tensors_t* box;
  if (target->dtype == LEAT_DTYPE_STRING) {
    return leat_tensor_serialize(tensor, true, target, index);
  }
  LEAT_RETURN_IF_ERROR(leat_boxed_tensors_create(
      &leat_tensor_box_vtable, true, 1, leat_tensor_data(target, leat_variant_t) + index, &box));
  box->items[0] = leat_tensor_share(tensor);
  return leat_ok_status();
}

static leat_status_t write_entries(const leat_entries_t* entries, leat_tensor_t* target,
                                   int64_t index) {
  LEAT_RETURN_IF_ERROR(write_tensor(&entries->indices, target, index));
  LEAT_RETURN_IF_ERROR(write_tensor(&entries->values, target, index + 1));
  return write_tensor(&entries->shape, target, index + 2);
}

// A variant may outlive the step, so the inputs are kept beyond it.
static leat_status_t serialize__cpu(leat_kernel_context_t* c) {
  leat_shape_t vector = leat_shape_vector(3);
  leat_tensor_t *output, kept;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &vector, &output));
  for (int i = 0; i < 3; ++i) {
    LEAT_RETURN_IF_ERROR(leat_kernel_keep_input(c, i, &kept));
    leat_status_t status = write_tensor(&kept, output, i);
    leat_tensor_release(&kept);
    LEAT_RETURN_IF_ERROR(status);
  }
  return leat_ok_status();
}

static leat_status_t serialize_many__cpu(leat_kernel_context_t* c) {
  leat_entries_t batch, row;
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_entries_of_batch(c, 0, true, &batch));
  int64_t count = *leat_tensor_data(&batch.shape, const int64_t), place = 0;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, 0, 2, (int64_t[]){count, 3}, &output));
  for (int64_t i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_entries_take_row(&batch, i, &place, &row));
    leat_status_t status = write_entries(&row, output, 3 * i);
    leat_entries_release(&row);
    LEAT_RETURN_IF_ERROR(status);
  }
  return leat_ok_status();
}

// ---- Reading ------------------------------------------------------------------------------------

// Reads the tensor that element |index| of input 0 holds.
static leat_status_t read_tensor(const leat_kernel_context_t* c, int64_t index,
                                 leat_tensor_t* out_tensor) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  if (input->dtype == LEAT_DTYPE_STRING) {
    leat_status_t status = leat_tensor_parse(leat_tensor_string_at(input, index),
                                             LEAT_DTYPE_INVALID, c->services->memory, out_tensor);
    return leat_status_annotate(status, "Could not parse serialized proto");
  }
  const leat_boxed_tensors_t* box = leat_boxed_tensors_of(
      leat_tensor_data(input, const leat_variant_t) + index, &leat_tensor_box_vtable);
  if (!box) {
    return leat_kernel_invalid(c, "Could not get a tensor from serialized_sparse[%lld, %lld]",
                               (long long)(index / 3), (long long)(index % 3));
  }
  *out_tensor = leat_tensor_share(&box->items[0]);
  return leat_ok_status();
}

// INVALID_ARGUMENT unless |tensor|, |part| of sparse tensor |number|, is of |dtype|.
static leat_status_t check_type(const leat_kernel_context_t* c, int64_t number, const char* part,
                                const leat_tensor_t* tensor, int dtype) {
  if (tensor->dtype == dtype) return leat_ok_status();
  return leat_kernel_invalid(c, "Requested SparseTensor of type %s but SparseTensor[%lld].%s"
                             ".dtype() == %s",
                             leat_dtype_name(dtype), (long long)number, part,
                             leat_dtype_name(tensor->dtype));
}

// Reads sparse tensor |number|. On failure the caller releases what there is of |out_entries|.
static leat_status_t read_entries(const leat_kernel_context_t* c, int64_t number,
                                  leat_entries_t* out_entries) {
  int dtype = (int)leat_dtype_base(c->kernel->output_types[1]);
  leat_shape_t dense;
  LEAT_RETURN_IF_ERROR(read_tensor(c, 3 * number, &out_entries->indices));
  LEAT_RETURN_IF_ERROR(read_tensor(c, 3 * number + 1, &out_entries->values));
  LEAT_RETURN_IF_ERROR(read_tensor(c, 3 * number + 2, &out_entries->shape));
  LEAT_RETURN_IF_ERROR(
      check_type(c, number, "indices", &out_entries->indices, LEAT_DTYPE_INT64));
  LEAT_RETURN_IF_ERROR(check_type(c, number, "values", &out_entries->values, dtype));
  LEAT_RETURN_IF_ERROR(check_type(c, number, "shape", &out_entries->shape, LEAT_DTYPE_INT64));
  LEAT_RETURN_IF_ERROR(leat_entries_check(c, out_entries));
  int64_t rank = out_entries->shape.shape.element_count;
  if (rank > LEAT_SHAPE_MAX_RANK) return leat_kernel_invalid(c, "the rank is too large");
  LEAT_RETURN_IF_ERROR(leat_shape_create((int)rank, out_entries->shape.data, &dense));
  leat_shape_release(&dense);
  return leat_ok_status();
}

// A vector of three elements is one sparse tensor, which needs no joining.
static leat_status_t read_one(leat_kernel_context_t* c) {
  leat_entries_t entries = {0};
  leat_status_t status = read_entries(c, 0, &entries);
  if (status) {
    leat_entries_release(&entries);
    return status;
  }
  leat_kernel_set_output(c, 0, entries.indices);
  leat_kernel_set_output(c, 1, entries.values);
  leat_kernel_set_output(c, 2, entries.shape);
  return leat_ok_status();
}

static leat_status_t deserialize__cpu(leat_kernel_context_t* c) {
  const leat_shape_t* shape = &leat_kernel_input(c, 0)->shape;
  int lead = shape->rank - 1;
  leat_entries_t* rows;
  LEAT_DCHECK(lead >= 0 && leat_shape_dim(shape, lead) == 3);
  if (lead == 0) return read_one(c);
  int64_t count = shape->element_count / 3;
  if (count == 0) {
    return leat_kernel_invalid(c, "Serialized sparse should have at least 1 serialized tensor, but "
                               "has a zero dimension %s",
                               LEAT_SHAPE_TEXT(shape));
  }
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), (size_t)count, &rows));
  leat_status_t status = leat_ok_status();
  for (int64_t i = 0; i < count && !status; ++i) status = read_entries(c, i, &rows[i]);
  if (!status) status = leat_entries_join(c, rows, count, lead, leat_shape_dims(shape));
  for (int64_t i = 0; i < count; ++i) leat_entries_release(&rows[i]);
  leat_allocator_free(leat_allocator_system(), rows);
  return status;
}

#define KERNEL(op_name, types, fn) \
  {.op = op_name, .device_type = "CPU", .constraints = types, .compute = fn##__cpu}

const leat_kernel_row_t leat_serialized_entries_kernels_cpu[] = {
    KERNEL("SerializeSparse", "out_type: string, variant", serialize),
    KERNEL("SerializeManySparse",
           "T: bfloat16, bool, complex128, complex64, double, float, half, int16, int32, int64, "
           "int8, resource, string, uint16, uint32, uint64, uint8, variant; "
           "out_type: string, variant",
           serialize_many),
    KERNEL("DeserializeSparse", "Tserialized: string, variant", deserialize),
    KERNEL("DeserializeManySparse", NULL, deserialize),
    LEAT_KERNEL_ROWS_END,
};
