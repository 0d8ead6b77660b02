// CPU kernels of warm starts, which begin training from a checkpoint whose vocabulary was another
// one.
//
// GenerateVocabRemapping reads two text files with a word per line. It gives for each new word the
// line of the same word in the old file, or -1:
//
//   remapping[i] = line in the old file of the new file's line new_vocab_offset + i
//
// LoadAndRemapMatrix reads a float matrix of a checkpoint in that order. What has no old row or
// column it fills from initializing_values, row by row:
//
//   output[i, j] = old[row_remapping[i], column_remapping[j]], or the next initializing value
//
// The rows that are wanted are sorted by their old number, so that the file is read forwards, in
// pieces of at most max_rows_in_memory rows. A matrix therefore need not fit into memory twice.
// Both kernels block on the file system.
#include <stdlib.h>
#include <string.h>

#include "formats/checkpoint/bundle.h"
#include "formats/wire/shape_proto.h"
#include "ops/kernel_rows.h"
#include "ops/lookup/key_rows_cpu.h"

// Copies the single string of input |index| to |arena|, where it ends with NUL.
static leat_status_t check_text(leat_kernel_context_t* c, int index, leat_arena_t* arena,
                                leat_string_view_t* out_text) {
  const leat_tensor_t* input = leat_kernel_input(c, index);
  if (input->shape.element_count != 1) {
    return leat_kernel_invalid(c, "%.*s must be a single string, but has shape %s",
                               LEAT_SV_ARG(c->kernel->op->inputs[index].name),
                               LEAT_SHAPE_TEXT(&input->shape));
  }
  return leat_arena_copy_string(arena, leat_tensor_string_at(input, 0), out_text);
}

// ---- Vocabularies -------------------------------------------------------------------------------

typedef struct vocabularies_s {
  int64_t offset, count, old_size;
} vocabularies_t;

static leat_status_t vocabularies_create(leat_kernel_creation_t* c, void* state) {
  vocabularies_t* own = state;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "new_vocab_offset", &own->offset));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "num_new_vocab", &own->count));
  return leat_kernel_attr_int(c, "old_vocab_size", &own->old_size);
}

// Reads the whole file that input |index| names; the caller frees the text.
static leat_status_t read_vocabulary(leat_kernel_context_t* c, int index,
                                     leat_string_view_t* out_text) {
  leat_arena_t arena;
  leat_string_view_t name;
  *out_text = leat_string_view_make(NULL, 0);
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = check_text(c, index, &arena, &name);
  if (!status && name.size == 0) {
    status = leat_kernel_invalid(c, "vocab filename cannot be empty.");
  }
  if (!status) {
    status = leat_file_read_all(leat_file_system_default(), name.data, leat_allocator_system(),
                                (char**)&out_text->data, &out_text->size);
  }
  leat_arena_deinitialize(&arena);
  return status;
}

// Enters the first |wanted| lines (-1: all) as keys, each with its line number as value. As no line
// may come twice, a key's row number equals its line number.
static leat_status_t index_lines(leat_string_view_t text, int64_t wanted, leat_key_rows_t* rows) {
  leat_string_view_t line;
  int64_t number = 0, row;
  for (; number != wanted && leat_string_view_take_line(&text, &line); ++number) {
    TF_TString key;
    bool added;
    TF_TString_Init(&key);
    TF_TString_AssignView(&key, line.data, line.size);
    LEAT_RETURN_IF_ERROR(leat_key_rows_find_or_add(rows, &key, 0, &row, &added));
    if (!added) {
      return leat_make_status(LEAT_FAILED_PRECONDITION,
                              "HashTable has different value for same key. Key %.*s is at lines "
                              "%lld and %lld",
                              LEAT_SV_ARG(line), (long long)row, (long long)number);
    }
    *(int64_t*)leat_key_rows_values(rows, row) = number;
  }
  if (number >= wanted) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Invalid vocab_size: expected %lld lines but got %lld",
                          (long long)wanted, (long long)number);
}

// Sets output 0 to the remapping and output 1 to the number of new words that the old file has.
static leat_status_t map_lines(leat_kernel_context_t* c, leat_string_view_t text,
                               const leat_key_rows_t* rows) {
  const vocabularies_t* own = leat_kernel_state(c);
  leat_shape_t vector = leat_shape_vector(own->count), scalar = leat_shape_scalar();
  leat_tensor_t *remapping, *present;
  leat_string_view_t line;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &vector, &remapping));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 1, &scalar, &present));
  int64_t* ids = leat_tensor_data(remapping, int64_t);
  int32_t found = 0;
  int64_t number = 0;
  for (; number < own->offset + own->count && leat_string_view_take_line(&text, &line); ++number) {
    if (number < own->offset) continue;
    TF_TString key;
    TF_TString_Init(&key);
    TF_TString_AssignView(&key, line.data, line.size);
    int64_t row = leat_key_rows_find(rows, &key, 0);
    ids[number - own->offset] = row;  // equals the line number, see index_lines
    found += row >= 0;
  }
  *leat_tensor_data(present, int32_t) = found;
  if (number == own->offset + own->count) return leat_ok_status();
  return leat_kernel_invalid(c, "lookup table size must be larger than last new vocab entry's "
                                "line");
}

static leat_status_t remap_vocabulary__cpu(leat_kernel_context_t* c) {
  const vocabularies_t* own = leat_kernel_state(c);
  leat_string_view_t new_text = {NULL, 0}, old_text = {NULL, 0};
  leat_key_rows_t rows;
  leat_key_rows_initialize(LEAT_DTYPE_STRING, LEAT_DTYPE_INT64, 1, &rows);
  leat_status_t status = read_vocabulary(c, 0, &new_text);
  if (!status) status = read_vocabulary(c, 1, &old_text);
  if (!status) status = index_lines(old_text, own->old_size, &rows);
  if (!status) status = map_lines(c, new_text, &rows);
  leat_key_rows_deinitialize(&rows);
  leat_allocator_free(leat_allocator_system(), (char*)new_text.data);
  leat_allocator_free(leat_allocator_system(), (char*)old_text.data);
  return status;
}

// ---- Matrices -----------------------------------------------------------------------------------

typedef struct matrix_s {
  int64_t rows, columns, max_rows;
} matrix_t;

static leat_status_t matrix_create(leat_kernel_creation_t* c, void* state) {
  matrix_t* own = state;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "num_rows", &own->rows));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "num_cols", &own->columns));
  return leat_kernel_attr_int(c, "max_rows_in_memory", &own->max_rows);
}

// A row or column |from| of the old matrix becomes |to| of the new one.
typedef struct move_s {
  int64_t from, to;
} move_t;

static int compare_moves(const void* a, const void* b) {
  const move_t *x = a, *y = b;
  return (x->from > y->from) - (x->from < y->from);
}

// Returns the moves of the remapping at input |index|, sorted by |from|, in |arena|; entries of -1
// are left out. UNIMPLEMENTED when an old row is wanted twice.
static leat_status_t sort_moves(leat_kernel_context_t* c, int index, int64_t wanted,
                                leat_arena_t* arena, move_t** out_moves, int64_t* out_count) {
  const leat_tensor_t* ids = leat_kernel_input(c, index);
  *out_count = 0;
  if (ids->shape.rank != 1 || ids->shape.element_count != wanted) {
    return leat_kernel_invalid(c, "%.*s has shape %s, must be [%lld]",
                               LEAT_SV_ARG(c->kernel->op->inputs[index].name),
                               LEAT_SHAPE_TEXT(&ids->shape), (long long)wanted);
  }
  move_t* moves;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)(wanted + 1), &moves));
  for (int64_t i = 0; i < wanted; ++i) {
    int64_t from = leat_tensor_data(ids, const int64_t)[i];
    if (from >= 0) moves[(*out_count)++] = (move_t){from, i};
  }
  qsort(moves, (size_t)*out_count, sizeof *moves, compare_moves);
  for (int64_t i = 1; i < *out_count; ++i) {
    if (moves[i].from != moves[i - 1].from) continue;
    return leat_make_status(LEAT_UNIMPLEMENTED,
                            "Old ID %lld is mapped to both new ID %lld and %lld, which is not "
                            "supported.",
                            (long long)moves[i].from, (long long)moves[i - 1].to,
                            (long long)moves[i].to);
  }
  *out_moves = moves;
  return leat_ok_status();
}

// One LoadAndRemapMatrix.
typedef struct load_s {
  leat_kernel_context_t* c;
  leat_bundle_reader_t* reader;
  leat_string_view_t name;
  int64_t old_columns;
  move_t *rows, *columns;  // sorted; |columns| NULL: all columns stay where they are
  int64_t row_count, column_count;
  float* output;
} load_t;

// Checks that the checkpoint's tensor is a matrix of floats, and finds its number of columns.
static leat_status_t check_stored(load_t* l, leat_arena_t* arena) {
  const matrix_t* own = leat_kernel_state(l->c);
  leat_pb_bundle_entry_proto_t entry;
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_bundle_reader_find(l->reader, l->name, arena, &entry));
  LEAT_RETURN_IF_ERROR(leat_shape_from_proto(entry.shape, &shape));
  bool is_matrix = entry.dtype == LEAT_DTYPE_FLOAT && shape.rank == 2;
  l->old_columns = is_matrix ? leat_shape_dim(&shape, 1) : 0;
  bool fits = is_matrix && (l->columns || l->old_columns == own->columns);
  leat_status_t status = leat_ok_status();
  if (!fits) {
    status = leat_kernel_invalid(l->c,
                                 "Tensor %.*s has type %s and shape %s, must be a float matrix of "
                                 "%lld columns",
                                 LEAT_SV_ARG(l->name), leat_dtype_name(entry.dtype),
                                 LEAT_SHAPE_TEXT(&shape), (long long)own->columns);
  }
  leat_shape_release(&shape);
  return status;
}

// Copies one old row to its place; columns without an old one stay as they are.
static void move_row(const load_t* l, const float* from, float* to) {
  if (!l->columns) {
    memcpy(to, from, (size_t)l->old_columns * sizeof *to);
    return;
  }
  for (int64_t i = 0; i < l->column_count && l->columns[i].from < l->old_columns; ++i) {
    to[l->columns[i].to] = from[l->columns[i].from];
  }
}

// Reads the old rows from move |begin| to before move |end|, with those between them that are not
// wanted, in one piece.
static leat_status_t load_rows(const load_t* l, int64_t begin, int64_t end) {
  const matrix_t* own = leat_kernel_state(l->c);
  int64_t first = l->rows[begin].from;
  leat_tensor_slice_t slice = {
      2, (int64_t[]){first, 0},
      (int64_t[]){l->rows[end - 1].from - first + 1, LEAT_TENSOR_SLICE_ALL}};
  leat_tensor_t old;
  LEAT_RETURN_IF_ERROR(leat_bundle_reader_read_slice(l->reader, l->name, &slice,
                                                     l->c->services->memory, &old));
  const float* data = leat_tensor_data(&old, const float);
  for (int64_t i = begin; i < end; ++i) {
    move_row(l, data + (l->rows[i].from - first) * l->old_columns,
             l->output + l->rows[i].to * own->columns);
  }
  leat_tensor_release(&old);
  return leat_ok_status();
}

// Reads the rows in pieces that span at most max_rows_in_memory old rows (0 or less: all at once).
static leat_status_t load_all(const load_t* l) {
  const matrix_t* own = leat_kernel_state(l->c);
  for (int64_t begin = 0, end; begin < l->row_count; begin = end) {
    int64_t limit = l->rows[l->row_count - 1].from;
    if (own->max_rows > 0 && limit - l->rows[begin].from >= own->max_rows) {
      limit = l->rows[begin].from + own->max_rows - 1;
    }
    for (end = begin + 1; end < l->row_count && l->rows[end].from <= limit;) ++end;
    LEAT_RETURN_IF_ERROR(load_rows(l, begin, end));
  }
  return leat_ok_status();
}

// Gives the initializing values, in order, to the cells whose row or column has no old one. There
// must be exactly as many values as cells.
static leat_status_t fill_missing(const load_t* l) {
  const matrix_t* own = leat_kernel_state(l->c);
  const leat_tensor_t* values = leat_kernel_input(l->c, 4);
  const int64_t* row_ids = leat_tensor_data(leat_kernel_input(l->c, 2), const int64_t);
  const int64_t* column_ids = leat_tensor_data(leat_kernel_input(l->c, 3), const int64_t);
  int64_t used = 0, count = values->shape.element_count;
  for (int64_t i = 0; i < own->rows; ++i) {
    for (int64_t j = 0; j < own->columns; ++j) {
      if (row_ids[i] >= 0 && (!l->columns || column_ids[j] >= 0)) continue;
      if (used < count) {
        l->output[i * own->columns + j] = leat_tensor_data(values, const float)[used];
      }
      ++used;
    }
  }
  if (used == count) return leat_ok_status();
  return leat_kernel_invalid(l->c,
                             "initializing_values contained %lld elements, but %lld values are "
                             "missing.",
                             (long long)count, (long long)used);
}

// Reads what has an old row and column, and fills in the rest. Without a remapping of columns all
// columns are read in their order.
static leat_status_t load_matrix(load_t* l, leat_arena_t* arena) {
  const matrix_t* own = leat_kernel_state(l->c);
  leat_string_view_t path;
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(sort_moves(l->c, 2, own->rows, arena, &l->rows, &l->row_count));
  if (leat_kernel_input(l->c, 3)->shape.element_count) {
    LEAT_RETURN_IF_ERROR(sort_moves(l->c, 3, own->columns, arena, &l->columns, &l->column_count));
  }
  LEAT_RETURN_IF_ERROR(check_text(l->c, 0, arena, &path));
  LEAT_RETURN_IF_ERROR(check_text(l->c, 1, arena, &l->name));
  LEAT_RETURN_IF_ERROR(leat_bundle_reader_open(leat_file_system_default(), path.data,
                                               leat_allocator_system(), &l->reader));
  LEAT_RETURN_IF_ERROR(check_stored(l, arena));
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_sized(l->c, 0, 2, (const int64_t[]){own->rows, own->columns}, &output));
  leat_tensor_fill_zero(output);
  l->output = leat_tensor_data(output, float);
  LEAT_RETURN_IF_ERROR(load_all(l));
  return fill_missing(l);
}

static leat_status_t load_matrix__cpu(leat_kernel_context_t* c) {
  load_t load = {.c = c};
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = load_matrix(&load, &arena);
  leat_bundle_reader_free(load.reader);
  leat_arena_deinitialize(&arena);
  return status;
}

const leat_kernel_row_t leat_remap_kernels_cpu[] = {
    {.op = "GenerateVocabRemapping",
     .device_type = "CPU",
     .create = vocabularies_create,
     .state_bytes = sizeof(vocabularies_t),
     .compute = remap_vocabulary__cpu,
     .expensive = true},
    {.op = "LoadAndRemapMatrix",
     .device_type = "CPU",
     .create = matrix_create,
     .state_bytes = sizeof(matrix_t),
     .compute = load_matrix__cpu,
     .expensive = true},
    LEAT_KERNEL_ROWS_END,
};
