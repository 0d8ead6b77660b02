// The kernel of InitializeTableFromDataset: fills a static lookup table with the elements of a
// dataset, each of which is a pair of a key and a value.
//
//   dataset of (key, value) ──pull──▶ pairs ──▶ leat_static_table_fill
//
// All elements are pulled first and the table is filled when the last one is there, so that the
// table's lock is not held while a function of the pipeline runs, and a dataset that fails leaves
// the table empty. A table that another session has already filled is left as it is, without an
// error, as by the other initializers (ops/lookup/table_initialize_cpu.c).
#include "ops/dataset/dataset_cpu.h"
#include "ops/kernel_rows.h"
#include "ops/lookup/table_cpu.h"

enum { KEY, VALUE, PAIR };

typedef struct filling_s {
  leat_pull_t pull;
  leat_lookup_t* table;
  leat_iterator_t* iterator;
  leat_tensor_t* items;  // key, value, key, value, ...
  size_t capacity, count;
  size_t given;  // items that the table was given
} filling_t;

// Gives the table the next pair, for leat_static_table_fill. TensorFlow's code where there is none
// at all.
static leat_status_t next_pair(void* data, const leat_tensor_t** out_key,
                               const leat_tensor_t** out_value, bool* out_end) {
  filling_t* f = data;
  *out_end = f->given == f->count;
  if (!f->count) return leat_make_status(LEAT_OUT_OF_RANGE, "the dataset has no elements");
  if (*out_end) return leat_ok_status();
  *out_key = &f->items[f->given + KEY];
  *out_value = &f->items[f->given + VALUE];
  f->given += PAIR;
  if ((*out_key)->shape.element_count == (*out_value)->shape.element_count) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "an element has a key of shape %s and a value of shape %s, must have as "
                          "many of one as of the other",
                          LEAT_SHAPE_TEXT(&(*out_key)->shape),
                          LEAT_SHAPE_TEXT(&(*out_value)->shape));
}

static leat_status_t fill_step(leat_pull_t* pull, leat_poll_t* out_poll) {
  filling_t* f = (filling_t*)pull;
  for (;;) {
    LEAT_RETURN_IF_ERROR(
        LEAT_GROW(leat_allocator_system(), f->count + PAIR, &f->items, &f->capacity));
    LEAT_RETURN_IF_ERROR(leat_iterator_next(f->iterator, pull, f->items + f->count, out_poll));
    if (*out_poll != LEAT_POLL_ELEMENT) return leat_ok_status();
    f->count += PAIR;
  }
}

static leat_status_t fill_table(filling_t* f) {
  const int64_t total = leat_dataset_cardinality(f->iterator->dataset);
  leat_status_t status = leat_static_table_fill(f->table, total < 0 ? 0 : total, next_pair, f);
  if (leat_status_code(status) == LEAT_FAILED_PRECONDITION &&
      leat_static_table_is_filled(f->table)) {
    leat_status_free(status);
    status = leat_ok_status();
  }
  return status;
}

static void end_filling(filling_t* f, leat_status_t status) {
  leat_kernel_context_t* context = f->pull.context;
  leat_kernel_done_fn_t done = f->pull.done;
  for (size_t i = 0; i < f->count; ++i) leat_tensor_release(&f->items[i]);
  leat_allocator_free(leat_allocator_system(), f->items);
  leat_iterator_free(f->iterator);
  if (f->table) leat_resource_release(&f->table->resource);
  leat_allocator_free(leat_allocator_system(), f);
  done(context, status);
}

static void fill_finish(leat_pull_t* pull, leat_status_t status) {
  filling_t* f = (filling_t*)pull;
  end_filling(f, status ? status : fill_table(f));
}

// The elements must be pairs of scalars, as far as is known, of the types of the table.
static leat_status_t check_elements(leat_kernel_context_t* c, const leat_lookup_t* table,
                                    const leat_element_spec_t* spec) {
  const int wanted[PAIR] = {table->key_dtype, table->value_dtype};
  static const char* const kNames[PAIR] = {"key", "value"};
  if (!table->vtable->fills_once) return leat_kernel_invalid(c, "Table is not initializable");
  if (spec->count != PAIR) {
    return leat_kernel_invalid(c, "the dataset's elements have %d components, must have two, a key "
                               "and a value", spec->count);
  }
  for (int i = 0; i < PAIR; ++i) {
    if (spec->types[i] != wanted[i]) {
      return leat_kernel_invalid(c, "the dataset's %s is %s, must be %s, as in the table",
                                 kNames[i], leat_dtype_name(spec->types[i]),
                                 leat_dtype_name(wanted[i]));
    }
    if (spec->shapes[i].rank > 0) {
      return leat_kernel_invalid(c, "the dataset's %s has %d dimensions, must be a scalar",
                                 kNames[i], spec->shapes[i].rank);
    }
  }
  return leat_ok_status();
}

static leat_status_t begin_filling(leat_kernel_context_t* c, filling_t* f) {
  leat_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(leat_lookup_find(c, &f->table));
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, 1), &dataset));
  LEAT_RETURN_IF_ERROR(check_elements(c, f->table, dataset->spec));
  return leat_iterator_create(dataset, NULL, &f->iterator);
}

static void fill__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  filling_t* f;
  leat_status_t status = LEAT_ALLOCATE(leat_allocator_system(), 1, &f);
  if (status) {
    done(c, status);
    return;
  }
  f->pull = (leat_pull_t){.services = c->services,
                          .context = c,
                          .done = done,
                          .step = fill_step,
                          .finish = fill_finish};
  status = begin_filling(c, f);
  if (status) {
    end_filling(f, status);
  } else {
    leat_pull_run(&f->pull);
  }
}

const leat_kernel_row_t leat_table_dataset_kernels_cpu[] = {
    {.op = "InitializeTableFromDataset", .device_type = "CPU", .compute_async = fill__cpu},
    LEAT_KERNEL_ROWS_END,
};
