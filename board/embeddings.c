// Reads the embeddings of one run's directory for the projector (board/api_projector.c): which
// there are, their numbers, and the files that belong to them.
//
//   projector_config.pbtxt ─▶ names, paths ─┬▶ table of text, or file of floats ─┐
//   newest checkpoint, or the one named ────┴▶ tensors ──────────────────────────┴▶ rows of floats
//
// Checkpoints are read through the library's public functions, which know both versions of them.
// Nothing is kept between requests: a checkpoint may be replaced at any time, and listing one reads
// its index alone. The configuration comes with the logs, so whoever wrote them chose its paths;
// resolve refuses those that lead out of the directory before any file is opened, though a symbolic
// link is followed. The size of a file, the number of tensors in a list, and the numbers of a table
// or a tensor are limited, since one request must not take all memory. In a list, a table that
// cannot be read has no shape and a checkpoint that cannot be opened adds nothing, so the rest can
// still be shown; the reason comes when the embedding itself is asked for. All numbers become
// floats, whatever their type was, because the projector takes no others.
#include "board/embeddings.h"

#include <math.h>
#include <stdlib.h>

#include "base/file_system.h"
#include "formats/wire/message.h"
#include "formats/wire/text.h"
#include "leat/files.h"

#define CONFIG "projector_config.pbtxt"
#define FILE_BYTES ((uint64_t)256 << 20)
#define LISTED_TENSORS 10000

// ---- Paths --------------------------------------------------------------------------------------
// |path| within |directory|, in |arena|: relative to it, or below it. No part may be "..".
static leat_status_t resolve(const char* directory, leat_string_view_t path, leat_arena_t* arena,
                             leat_string_view_t* out_path) {
  leat_string_view_t above = leat_string_view_from(directory), rest = path;
  bool is_below = leat_string_view_starts_with(path, above) && path.size > above.size &&
                  path.data[above.size] == '/';
  if (is_below) rest = leat_string_view_from_index(path, above.size + 1);
  bool leads_out = !rest.size || rest.data[0] == '/' || memchr(rest.data, 0, rest.size) != NULL;
  for (leat_string_view_t left = rest; left.size && !leads_out;) {
    size_t end = leat_string_view_find(left, '/');
    if (end > left.size) end = left.size;
    leads_out = leat_string_view_equals(leat_string_view_make(left.data, end), "..");
    left = leat_string_view_from_index(left, end + 1);
  }
  if (leads_out) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "the path \"%.*s\" leads out of the run",
                            LEAT_SV_ARG(path));
  }
  return leat_arena_print(arena, out_path, "%s/%.*s", directory, LEAT_SV_ARG(rest));
}

static leat_status_t read_all(const char* path, leat_arena_t* arena,
                              leat_string_view_t* out_bytes) {
  leat_file_t* file = NULL;
  uint64_t size;
  char* bytes = NULL;
  LEAT_RETURN_IF_ERROR(leat_file_open(leat_file_system_default(), path, LEAT_FILE_READ,
                                      leat_allocator_system(), &file));
  leat_status_t status = file->vtable->size(file, &size);
  if (!status && size > FILE_BYTES) {
    status = leat_make_status(LEAT_INVALID_ARGUMENT, "the file has more than 256 MiB");
  }
  if (!status) status = LEAT_NEW(arena, size + 1, &bytes);
  if (!status) status = leat_file_read_exactly(file, 0, bytes, size);
  leat_status_free(leat_file_close(file));
  *out_bytes = leat_string_view_make(bytes, status ? 0 : size);
  return status;
}

leat_status_t board_embeddings_file(const char* directory, leat_string_view_t path,
                                    leat_arena_t* arena, leat_string_view_t* out_bytes) {
  leat_string_view_t resolved;
  LEAT_RETURN_IF_ERROR(resolve(directory, path, arena, &resolved));
  leat_status_t status = read_all(resolved.data, arena, out_bytes);
  leat_status_code_t code = leat_status_code(status);
  if (!status || code == LEAT_RESOURCE_EXHAUSTED || code == LEAT_NOT_FOUND) return status;
  // A directory, a file that is too large, or one that was cut meanwhile.
  leat_status_free(status);
  return leat_make_status(LEAT_INVALID_ARGUMENT, "the file \"%.*s\" cannot be read",
                          LEAT_SV_ARG(path));
}

// Whether the directory has the file |name|.
static bool has_file(const char* directory, const char* name) {
  leat_string_builder_t path;
  leat_string_builder_initialize(leat_allocator_system(), &path);
  leat_string_builder_print(&path, "%s/%s", directory, name);
  bool exists = !path.status && leat_file_exists(leat_file_system_default(), path.data);
  leat_string_builder_deinitialize(&path);
  return exists;
}

bool board_embeddings_may_exist(const char* directory) {
  return has_file(directory, CONFIG) || has_file(directory, "checkpoint");
}

// ---- Checkpoints --------------------------------------------------------------------------------
// What the public functions say, as a status of ours.
static leat_status_t status_of(TF_Status* status, const char* doing) {
  if (TF_GetCode(status) == TF_OK) return leat_ok_status();
  return leat_make_status(TF_GetCode(status) == TF_RESOURCE_EXHAUSTED ? LEAT_RESOURCE_EXHAUSTED
                                                                      : LEAT_INVALID_ARGUMENT,
                          "%s failed: %s", doing, TF_Message(status));
}

// Opens the checkpoint of the configuration, or the newest one; NULL where there is none.
static leat_status_t open_checkpoint(const char* directory,
                                     const leat_pb_projector_config_t* config, leat_arena_t* arena,
                                     leat_string_view_t* out_path,
                                     leat_checkpoint_t** out_checkpoint) {
  leat_string_view_t path = config->model_checkpoint_path;
  *out_checkpoint = NULL;
  *out_path = leat_string_view_make("", 0);
  TF_Status* status = TF_NewStatus();
  if (!path.size && has_file(directory, "checkpoint")) {
    char* latest = leat_checkpoint_latest(directory, status);
    leat_status_t copied = latest ? leat_arena_copy_string(arena, leat_string_view_from(latest),
                                                           &path) : leat_ok_status();
    free(latest);
    if (copied) {
      TF_DeleteStatus(status);
      return copied;
    }
  }
  leat_status_t result = path.size ? resolve(directory, path, arena, out_path) : leat_ok_status();
  if (!result && path.size) {
    *out_checkpoint = leat_checkpoint_open(out_path->data, status);
    result = status_of(status, "Opening a checkpoint");
  }
  TF_DeleteStatus(status);
  return result;
}

// The shape of the tensor |index|: its rank, or -1 where it is above 8.
static int shape_of(const leat_checkpoint_t* checkpoint, size_t index, int64_t dims[8]) {
  int rank = leat_checkpoint_shape(checkpoint, index, NULL, dims, 8);
  return rank <= 8 ? rank : -1;
}

// ---- The list -----------------------------------------------------------------------------------
static leat_string_view_t without_port(leat_string_view_t name) {
  if (leat_string_view_ends_with(name, LEAT_SV(":0"))) name.size -= 2;
  return name;
}

const leat_pb_embedding_info_t* board_embeddings_find(const leat_pb_projector_config_t* config,
                                                      leat_string_view_t name) {
  name = without_port(name);
  for (size_t i = 0; i < config->embeddings.count; ++i) {
    const leat_pb_embedding_info_t* info = &config->embeddings.items[i];
    if (leat_string_view_equal(info->tensor_name, name)) return info;
  }
  return NULL;
}

// Adds the matrices of the checkpoint that the configuration does not name, and shapes to those
// that it names.
static leat_status_t add_tensors(const leat_checkpoint_t* checkpoint, leat_arena_t* arena,
                                 leat_pb_projector_config_t* config) {
  size_t count = leat_checkpoint_count(checkpoint), named = config->embeddings.count;
  leat_pb_embedding_info_t* all = NULL;
  if (count > LISTED_TENSORS) count = LISTED_TENSORS;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, named + count + 1, &all));
  if (named) memcpy(all, config->embeddings.items, named * sizeof *all);
  config->embeddings.items = all;
  for (size_t i = 0; i < count; ++i) {
    leat_string_view_t name = leat_string_view_from(leat_checkpoint_name(checkpoint, i));
    int64_t dims[8];
    if (shape_of(checkpoint, i, dims) != 2 || dims[0] > UINT32_MAX || dims[1] > UINT32_MAX) {
      continue;
    }
    leat_pb_embedding_info_t* info =
        (leat_pb_embedding_info_t*)board_embeddings_find(config, name);
    if (!info) {
      info = &all[config->embeddings.count++];
      LEAT_RETURN_IF_ERROR(leat_arena_copy_string(arena, name, &info->tensor_name));
    }
    if (info->tensor_shape.count || info->tensor_path.size) continue;
    LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 2, &info->tensor_shape.items));
    info->tensor_shape.items[0] = (uint32_t)dims[0];
    info->tensor_shape.items[1] = (uint32_t)dims[1];
    info->tensor_shape.count = 2;
  }
  return leat_ok_status();
}

// Reads a matrix of text: a row a line, numbers between tabs. Of |row_limit| 0 only the shape.
static leat_status_t read_table(leat_string_view_t text, size_t row_limit, leat_arena_t* arena,
                                board_matrix_t* out_matrix) {
  leat_string_view_t rest = text, line;
  *out_matrix = (board_matrix_t){0};
  while (leat_string_view_take_line(&rest, &line)) {
    size_t columns = 1;
    if (!leat_string_view_trim(line).size) continue;
    for (size_t i = 0; i < line.size; ++i) columns += line.data[i] == '\t';
    if (out_matrix->rows++ && columns != out_matrix->columns) {
      return leat_make_status(LEAT_INVALID_ARGUMENT, "row %zu has %zu numbers, must have %zu",
                              out_matrix->rows, columns, out_matrix->columns);
    }
    out_matrix->columns = columns;
  }
  if (!row_limit) return leat_ok_status();
  if (out_matrix->rows > row_limit) out_matrix->rows = row_limit;
  size_t count = out_matrix->rows * out_matrix->columns, next = 0;
  if (count > BOARD_EMBEDDING_FLOATS) return leat_make_status(LEAT_INVALID_ARGUMENT, "too large");
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count + 1, &out_matrix->values));
  while (next < count && leat_string_view_take_line(&text, &line)) {
    if (!leat_string_view_trim(line).size) continue;
    for (size_t column = 0; column < out_matrix->columns; ++column) {
      size_t end = leat_string_view_find(line, '\t');
      if (end > line.size) end = line.size;
      double number = 0;
      leat_string_view_t cell = leat_string_view_trim(leat_string_view_make(line.data, end));
      if (!leat_string_view_to_double(cell, &number)) {
        return leat_make_status(LEAT_INVALID_ARGUMENT, "'%.*s' is no number", LEAT_SV_ARG(cell));
      }
      out_matrix->values[next++] = (float)number;
      line = leat_string_view_from_index(line, end + 1);
    }
  }
  return leat_ok_status();
}

// Sets the shape of an embedding that lies in a table of its own and states none.
static leat_status_t tell_shape(const char* directory, leat_arena_t* arena,
                                leat_pb_embedding_info_t* info) {
  leat_string_view_t text;
  board_matrix_t matrix = {0};
  if (!info->tensor_path.size || info->tensor_shape.count) return leat_ok_status();
  leat_status_t status = board_embeddings_file(directory, info->tensor_path, arena, &text);
  if (!status) status = read_table(text, 0, arena, &matrix);
  if (status || matrix.rows > UINT32_MAX || matrix.columns > UINT32_MAX) {
    // What cannot be read has no shape, and says why when it is asked for.
    leat_status_free(status);
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 2, &info->tensor_shape.items));
  info->tensor_shape.items[0] = (uint32_t)matrix.rows;
  info->tensor_shape.items[1] = (uint32_t)matrix.columns;
  info->tensor_shape.count = 2;
  return leat_ok_status();
}

leat_status_t board_embeddings_list(const char* directory, leat_arena_t* arena,
                                    leat_pb_projector_config_t* out_config) {
  leat_checkpoint_t* checkpoint;
  leat_string_view_t text, path;
  *out_config = (leat_pb_projector_config_t){0};
  if (has_file(directory, CONFIG)) {
    LEAT_RETURN_IF_ERROR(board_embeddings_file(directory, LEAT_SV(CONFIG), arena, &text));
    LEAT_RETURN_IF_ERROR(
        leat_text_parse(&leat_pb_projector_config_descriptor, text, arena, out_config));
  }
  for (size_t i = 0; i < out_config->embeddings.count; ++i) {
    leat_pb_embedding_info_t* info = &out_config->embeddings.items[i];
    info->tensor_name = without_port(info->tensor_name);
    LEAT_RETURN_IF_ERROR(tell_shape(directory, arena, info));
  }
  leat_status_t status = open_checkpoint(directory, out_config, arena, &path, &checkpoint);
  if (status && leat_status_code(status) != LEAT_RESOURCE_EXHAUSTED) {
    // Tables can be shown without the checkpoint.
    leat_status_free(status);
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(status);
  if (!checkpoint) return leat_ok_status();
  out_config->model_checkpoint_path = path;
  status = add_tensors(checkpoint, arena, out_config);
  leat_checkpoint_close(checkpoint);
  return status;
}

// ---- Reading ------------------------------------------------------------------------------------
static float half_of(uint16_t bits) {
  int exponent = bits >> 10 & 31;
  float fraction = (float)(bits & 1023) / 1024;
  float size = exponent == 31  ? (fraction > 0 ? NAN : INFINITY)
               : exponent == 0 ? ldexpf(fraction, -14)
                               : ldexpf(1 + fraction, exponent - 15);
  return bits & 0x8000 ? -size : size;
}

static float bfloat_of(uint16_t bits) {
  uint32_t word = (uint32_t)bits << 16;
  float number;
  memcpy(&number, &word, sizeof number);
  return number;
}

// Converts |count| numbers; false where the type is none of numbers.
static bool convert(TF_DataType dtype, const void* data, size_t count, float* out) {
#define CONVERT(code, type, of)                                                   \
  case code:                                                                      \
    for (size_t i = 0; i < count; ++i) out[i] = (float)of(((const type*)data)[i]); \
    return true;
  switch (dtype) {
    CONVERT(TF_FLOAT, float, )
    CONVERT(TF_DOUBLE, double, )
    CONVERT(TF_HALF, uint16_t, half_of)
    CONVERT(TF_BFLOAT16, uint16_t, bfloat_of)
    CONVERT(TF_INT8, int8_t, )
    CONVERT(TF_INT16, int16_t, )
    CONVERT(TF_INT32, int32_t, )
    CONVERT(TF_INT64, int64_t, )
    CONVERT(TF_UINT8, uint8_t, )
    CONVERT(TF_UINT16, uint16_t, )
    CONVERT(TF_UINT32, uint32_t, )
    CONVERT(TF_UINT64, uint64_t, )
    CONVERT(TF_BOOL, uint8_t, )
    default: return false;
  }
#undef CONVERT
}

static leat_status_t check_size(size_t rows, size_t columns) {
  if (columns == 0 || rows <= BOARD_EMBEDDING_FLOATS / columns) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "the tensor has more than 2^26 numbers");
}

// Reads the tensor |index| of the checkpoint.
static leat_status_t read_tensor(leat_checkpoint_t* checkpoint, size_t index, size_t row_limit,
                                 leat_arena_t* arena, board_matrix_t* out_matrix) {
  int64_t dims[8];
  int rank = shape_of(checkpoint, index, dims);
  size_t rows = rank > 0 ? (size_t)dims[0] : 1, columns = 1;
  if (rank < 0) return leat_make_status(LEAT_INVALID_ARGUMENT, "its rank is above 8");
  for (int i = 1; i < rank; ++i) {
    if (__builtin_mul_overflow(columns, (size_t)dims[i], &columns)) columns = SIZE_MAX;
  }
  LEAT_RETURN_IF_ERROR(check_size(rows, columns));
  TF_Status* status = TF_NewStatus();
  TF_Tensor* tensor =
      leat_checkpoint_read(checkpoint, leat_checkpoint_name(checkpoint, index), status);
  leat_status_t result = status_of(status, "Reading a tensor");
  TF_DeleteStatus(status);
  if (rows > row_limit) rows = row_limit;
  *out_matrix = (board_matrix_t){.rows = rows, .columns = columns};
  if (!result) result = LEAT_NEW(arena, rows * columns + 1, &out_matrix->values);
  if (!result && !convert(TF_TensorType(tensor), TF_TensorData(tensor), rows * columns,
                          out_matrix->values)) {
    result = leat_make_status(LEAT_INVALID_ARGUMENT, "the tensor has no numbers");
  }
  if (tensor) TF_DeleteTensor(tensor);
  return result;
}

// Reads a file of little-endian floats, whose shape the configuration states.
static leat_status_t read_floats(leat_string_view_t bytes, const leat_pb_embedding_info_t* info,
                                 size_t row_limit, leat_arena_t* arena,
                                 board_matrix_t* out_matrix) {
  size_t rows = info->tensor_shape.items[0], columns = info->tensor_shape.items[1];
  LEAT_RETURN_IF_ERROR(check_size(rows, columns));
  if (bytes.size != rows * columns * sizeof(float)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "the file has %zu bytes, must have %zu",
                            bytes.size, rows * columns * sizeof(float));
  }
  if (rows > row_limit) rows = row_limit;
  *out_matrix = (board_matrix_t){.rows = rows, .columns = columns};
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, rows * columns + 1, &out_matrix->values));
  memcpy(out_matrix->values, bytes.data, rows * columns * sizeof(float));
  return leat_ok_status();
}

leat_status_t board_embeddings_read(const char* directory,
                                    const leat_pb_projector_config_t* config,
                                    leat_string_view_t name, size_t row_limit, leat_arena_t* arena,
                                    board_matrix_t* out_matrix) {
  const leat_pb_embedding_info_t* info = board_embeddings_find(config, name);
  leat_checkpoint_t* checkpoint;
  leat_string_view_t bytes, path;
  if (info && info->tensor_path.size) {
    LEAT_RETURN_IF_ERROR(board_embeddings_file(directory, info->tensor_path, arena, &bytes));
    bool is_table = !leat_string_view_ends_with(info->tensor_path, LEAT_SV(".bytes"));
    if (is_table) return read_table(bytes, row_limit, arena, out_matrix);
    if (info->tensor_shape.count == 2) {
      return read_floats(bytes, info, row_limit, arena, out_matrix);
    }
    return leat_make_status(LEAT_INVALID_ARGUMENT, "the configuration states no shape");
  }
  LEAT_RETURN_IF_ERROR(open_checkpoint(directory, config, arena, &path, &checkpoint));
  leat_status_t status = leat_make_status(LEAT_INVALID_ARGUMENT, "Tensor \"%.*s\" not found",
                                          LEAT_SV_ARG(name));
  size_t count = checkpoint ? leat_checkpoint_count(checkpoint) : 0;
  for (size_t i = 0; i < count; ++i) {
    if (!leat_string_view_equals(name, leat_checkpoint_name(checkpoint, i))) continue;
    leat_status_free(status);
    status = read_tensor(checkpoint, i, row_limit, arena, out_matrix);
    break;
  }
  leat_checkpoint_close(checkpoint);
  return status;
}
