// The base of all lookup tables: the resource kind, and the checks of the tensors that ops bring. A
// table has a key shape and a value shape, each usually a scalar or a vector:
//
//   keys [..., key shape]  ->  values [..., value shape]
//
// Dense tables import their content as matrices of buckets, which have one dimension for the key
// and at least one for the value even where these are scalars. The kernels (table_access_cpu.c)
// make the checks before they call a table's vtable, and tables assume that they were made. So a
// new kind of table has only to find and to store, and all kinds refuse the same tensors with the
// same messages.
#include "ops/lookup/table_cpu.h"

static void table_destroy(leat_resource_t* resource) {
  leat_lookup_t* table = (leat_lookup_t*)resource;
  leat_shape_release(&table->key_shape);
  leat_shape_release(&table->value_shape);
  table->vtable->destroy(table);
}

const leat_resource_kind_t leat_lookup_kind = {
    .name = "tensorflow::lookup::LookupInterface", .destroy = table_destroy};

void leat_lookup_initialize(const leat_lookup_vtable_t* vtable, int key_dtype, int value_dtype,
                            const leat_shape_t* key_shape, const leat_shape_t* value_shape,
                            leat_lookup_t* out_table) {
  out_table->resource.kind = &leat_lookup_kind;
  out_table->resource.references = 1;
  out_table->vtable = vtable;
  out_table->key_dtype = key_dtype;
  out_table->value_dtype = value_dtype;
  out_table->key_shape = leat_shape_retain(key_shape);
  out_table->value_shape = leat_shape_retain(value_shape);
}

leat_status_t leat_lookup_find(leat_kernel_context_t* c, leat_lookup_t** out_table) {
  return leat_handle_find(c, 0, &leat_lookup_kind, (leat_resource_t**)out_table);
}

// Keys may have any dimensions in front, and then one look-up is made for each of them.
leat_status_t leat_lookup_check_keys(const leat_kernel_context_t* c, const leat_lookup_t* table,
                                     const leat_tensor_t* keys) {
  int rank = table->key_shape.rank, offset = keys->shape.rank - rank;
  if (keys->dtype != table->key_dtype) {
    return leat_kernel_invalid(c, "keys are %s, must be %s", leat_dtype_name(keys->dtype),
                               leat_dtype_name(table->key_dtype));
  }
  bool fits = offset >= 0;
  for (int i = 0; i < rank && fits; ++i) {
    fits = leat_shape_dim(&keys->shape, offset + i) == leat_shape_dim(&table->key_shape, i);
  }
  if (fits) return leat_ok_status();
  return leat_kernel_invalid(c, "Input key shape %s must end with the table's key shape %s",
                             LEAT_SHAPE_TEXT(&keys->shape), LEAT_SHAPE_TEXT(&table->key_shape));
}

// Returns the shape of |keys| with its last |key_rank| dimensions replaced by those of |value|.
static leat_status_t values_shape(const leat_shape_t* keys, int key_rank, const leat_shape_t* value,
                                  leat_shape_t* out_shape) {
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  int rank = 0, prefix = keys->rank > key_rank ? keys->rank - key_rank : 0;
  if (prefix + value->rank > LEAT_SHAPE_MAX_RANK) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Too many dimensions: %d",
                            prefix + value->rank);
  }
  for (; rank < prefix; ++rank) dims[rank] = leat_shape_dim(keys, rank);
  for (int i = 0; i < value->rank; ++i) dims[rank++] = leat_shape_dim(value, i);
  return leat_shape_create(rank, dims, out_shape);
}

leat_status_t leat_lookup_values_shape(const leat_lookup_t* table, const leat_shape_t* keys,
                                       leat_shape_t* out_shape) {
  return values_shape(keys, table->key_shape.rank, &table->value_shape, out_shape);
}

// The shape of the values that an import of a dense table takes: buckets always have one dimension
// for the key and at least one for the value, even where these are scalars.
static leat_status_t buckets_shape(const leat_lookup_t* table, const leat_shape_t* keys,
                                   leat_shape_t* out_shape) {
  leat_shape_t one = leat_shape_vector(1);
  return values_shape(keys, 1, table->value_shape.rank ? &table->value_shape : &one, out_shape);
}

leat_status_t leat_lookup_check_rows(const leat_kernel_context_t* c, const leat_lookup_t* table,
                                     const leat_tensor_t* keys, const leat_tensor_t* values,
                                     bool is_import) {
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_lookup_check_keys(c, table, keys));
  if (values->dtype != table->value_dtype) {
    return leat_kernel_invalid(c, "values are %s, must be %s", leat_dtype_name(values->dtype),
                               leat_dtype_name(table->value_dtype));
  }
  if (is_import && table->vtable->imports_matrix) {
    LEAT_RETURN_IF_ERROR(buckets_shape(table, &keys->shape, &shape));
  } else {
    LEAT_RETURN_IF_ERROR(leat_lookup_values_shape(table, &keys->shape, &shape));
  }
  leat_status_t status = leat_ok_status();
  if (!leat_shape_equal(&shape, &values->shape)) {
    status = leat_kernel_invalid(c, "Expected shape %s for value, got %s", LEAT_SHAPE_TEXT(&shape),
                                 LEAT_SHAPE_TEXT(&values->shape));
  }
  leat_shape_release(&shape);
  return status;
}
