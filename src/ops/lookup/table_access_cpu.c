// CPU kernels that find, insert, remove, count, export and import the entries of lookup tables.
// Each one finds the table that input 0 names, checks the other inputs against the table's types
// and shapes, and calls the function of the table's vtable. The checks are made here, once for all
// kinds of tables, so that the tables can rely on them. The kernel holds a reference to the table
// for the length of the call. One kernel serves both forms of an op, because the lookup reads
// either form of handle.
#include "ops/kernel_rows.h"
#include "ops/lookup/table_cpu.h"

// Checks the default value: one value for all keys, or one for each key.
static leat_status_t check_fallback(const leat_kernel_context_t* c, const leat_lookup_t* table,
                                    const leat_shape_t* output) {
  const leat_tensor_t* fallback = leat_kernel_input(c, 2);
  if (fallback->dtype != table->value_dtype) {
    return leat_kernel_invalid(c, "default_value is %s, must be %s",
                               leat_dtype_name(fallback->dtype),
                               leat_dtype_name(table->value_dtype));
  }
  if (leat_shape_equal(&fallback->shape, &table->value_shape) ||
      leat_shape_equal(&fallback->shape, output)) {
    return leat_ok_status();
  }
  return leat_kernel_invalid(c, "Expected shape %s or %s for default value, got %s",
                             LEAT_SHAPE_TEXT(&table->value_shape), LEAT_SHAPE_TEXT(output),
                             LEAT_SHAPE_TEXT(&fallback->shape));
}

static leat_status_t find(leat_kernel_context_t* c, leat_lookup_t* table) {
  const leat_tensor_t *keys = leat_kernel_input(c, 1), *fallback = leat_kernel_input(c, 2);
  leat_shape_t shape;
  leat_tensor_t* output = NULL;
  LEAT_RETURN_IF_ERROR(leat_lookup_check_keys(c, table, keys));
  LEAT_RETURN_IF_ERROR(leat_lookup_values_shape(table, &keys->shape, &shape));
  leat_status_t status = check_fallback(c, table, &shape);
  if (!status) status = leat_kernel_allocate_output(c, 0, &shape, &output);
  leat_shape_release(&shape);
  if (status) return status;
  return table->vtable->find(table, keys, fallback, output);
}

static leat_status_t insert(leat_kernel_context_t* c, leat_lookup_t* table) {
  const leat_tensor_t *keys = leat_kernel_input(c, 1), *values = leat_kernel_input(c, 2);
  LEAT_RETURN_IF_ERROR(leat_lookup_check_rows(c, table, keys, values, false));
  return table->vtable->insert(table, keys, values);
}

static leat_status_t remove_keys(leat_kernel_context_t* c, leat_lookup_t* table) {
  const leat_tensor_t* keys = leat_kernel_input(c, 1);
  LEAT_RETURN_IF_ERROR(leat_lookup_check_keys(c, table, keys));
  return table->vtable->remove(table, keys);
}

static leat_status_t size(leat_kernel_context_t* c, leat_lookup_t* table) {
  leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &scalar, &output));
  *leat_tensor_data(output, int64_t) = table->vtable->size(table);
  return leat_ok_status();
}

static leat_status_t export(leat_kernel_context_t* c, leat_lookup_t* table) {
  leat_tensor_t keys = {0}, values = {0};
  if (table->key_dtype != (int)leat_dtype_base(c->kernel->output_types[0]) ||
      table->value_dtype != (int)leat_dtype_base(c->kernel->output_types[1])) {
    return leat_kernel_invalid(c, "Tkeys and Tvalues are %s and %s, must be %s and %s",
                               leat_dtype_name(c->kernel->output_types[0]),
                               leat_dtype_name(c->kernel->output_types[1]),
                               leat_dtype_name(table->key_dtype),
                               leat_dtype_name(table->value_dtype));
  }
  leat_status_t status = table->vtable->export(table, c->services->memory, &keys, &values);
  if (status) {
    leat_tensor_release(&keys);
    leat_tensor_release(&values);
    return status;
  }
  leat_kernel_set_output(c, 0, keys);
  leat_kernel_set_output(c, 1, values);
  return leat_ok_status();
}

static leat_status_t import(leat_kernel_context_t* c, leat_lookup_t* table) {
  const leat_tensor_t *keys = leat_kernel_input(c, 1), *values = leat_kernel_input(c, 2);
  LEAT_RETURN_IF_ERROR(leat_lookup_check_rows(c, table, keys, values, true));
  return table->vtable->import(table, keys, values);
}

// A kernel that runs |verb| on the table at input 0.
#define KERNEL(verb)                                           \
  static leat_status_t verb##__cpu(leat_kernel_context_t* c) { \
    leat_lookup_t* table;                                       \
    LEAT_RETURN_IF_ERROR(leat_lookup_find(c, &table));          \
    leat_status_t status = verb(c, table);                     \
    leat_resource_release(&table->resource);                   \
    return status;                                             \
  }
KERNEL(find)
KERNEL(insert)
KERNEL(remove_keys)
KERNEL(size)
KERNEL(export)
KERNEL(import)

#define BOTH(op_name, kernel)                                           \
  {.op = op_name, .device_type = "CPU", .compute = kernel##__cpu}, {    \
    .op = op_name "V2", .device_type = "CPU", .compute = kernel##__cpu \
  }

const leat_kernel_row_t leat_table_access_kernels_cpu[] = {
    BOTH("LookupTableFind", find),
    BOTH("LookupTableInsert", insert),
    {.op = "LookupTableRemoveV2", .device_type = "CPU", .compute = remove_keys__cpu},
    BOTH("LookupTableSize", size),
    BOTH("LookupTableExport", export),
    BOTH("LookupTableImport", import),
    LEAT_KERNEL_ROWS_END,
};
