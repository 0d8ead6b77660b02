// The projector: which embeddings runs have, their numbers, labels and pictures, as TensorBoard's
// plugin answers; and, at an address of our own, points that are projected here:
//
//   /data/leat/projection?run=...&name=...&method=pca|tsne|umap&dims=2|3
//                         &perplexity=... (of tsne) &neighbours=... (of umap)
//
//   u32 magic "LBP1" | u32 rows of the tensor | u32 rows that are shown | u32 dims |
//   f32 shares of the variance (3, of pca, else 0) | f32 points, row by row
//
// All little-endian. Of more rows than a method takes, those in equal distances are shown: the row
// i of the answer is the row floor(i * rows / shown) of the tensor.
#include <math.h>

#include "board/api.h"
#include "board/embeddings.h"
#include "board/json_writer.h"
#include "board/projection.h"

#define CONFIG_ERROR "No %s file found for tensor \"%.*s\""
#define PRINCIPAL_ROWS 20000
#define PRINCIPAL_FLOATS ((size_t)8 << 20)  // which are multiplied many times
#define NEIGHBOUR_COLUMNS 4096
#define NEIGHBOUR_WORK 1e10  // differences of numbers, when all pairs of rows are compared

// A parameter that must be there.
static leat_status_t require(const board_request_t* request, const char* name,
                             leat_string_view_t* out_value) {
  if (board_query_get(&request->query, name, out_value)) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "query parameter \"%s\" is required", name);
}

// The directory of the run that the request names, and what it has. The log directory itself need
// not have events.
static leat_status_t find(board_api_t* api, const board_request_t* request,
                          const char** out_directory, leat_pb_projector_config_t* out_config) {
  leat_string_view_t name;
  LEAT_RETURN_IF_ERROR(require(request, "run", &name));
  const board_run_t* run = board_logdir_find(api->logdir, name);
  *out_directory = run                                   ? run->directory
                   : leat_string_view_equals(name, ".") ? board_logdir_path(api->logdir)
                                                         : NULL;
  if (*out_directory && board_embeddings_may_exist(*out_directory)) {
    return board_embeddings_list(*out_directory, request->arena, out_config);
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Unknown run: \"%.*s\"", LEAT_SV_ARG(name));
}

leat_status_t board_api_projector_runs(board_api_t* api, const board_request_t* request,
                                       board_response_t* response) {
  board_run_t** runs;
  size_t count;
  bool follows = false, has_root = false;
  (void)request;
  LEAT_RETURN_IF_ERROR(board_logdir_runs(api->logdir, &runs, &count));
  leat_string_builder_append_char(&response->body, '[');
  for (size_t i = 0; i <= count; ++i) {
    // The log directory comes last, where it is no run.
    bool is_root = i == count;
    const char* name = is_root ? "." : runs[i]->name;
    if (is_root && has_root) break;
    has_root |= !strcmp(name, ".");
    if (!board_embeddings_may_exist(is_root ? board_logdir_path(api->logdir)
                                            : runs[i]->directory)) {
      continue;
    }
    if (follows) leat_string_builder_append_char(&response->body, ',');
    follows = true;
    board_json_string(&response->body, leat_string_view_from(name));
  }
  leat_string_builder_append_char(&response->body, ']');
  leat_allocator_free(leat_allocator_system(), runs);
  return leat_ok_status();
}

// ---- What there is ------------------------------------------------------------------------------
static void print_text(const char* name, leat_string_view_t text, leat_string_builder_t* out) {
  if (!text.size) return;
  leat_string_builder_print(out, ",\"%s\":", name);
  board_json_string(out, text);
}

static void print_sizes(const char* name, const leat_pb_uint32_list_t* sizes,
                        leat_string_builder_t* out) {
  if (!sizes->count) return;
  leat_string_builder_print(out, "\"%s\":[", name);
  for (size_t i = 0; i < sizes->count; ++i) {
    leat_string_builder_print(out, i ? ",%u" : "%u", sizes->items[i]);
  }
  leat_string_builder_append_char(out, ']');
}

static void print_embedding(const leat_pb_embedding_info_t* info, leat_string_builder_t* out) {
  leat_string_builder_append(out, LEAT_SV("{\"tensorName\":"));
  board_json_string(out, info->tensor_name);
  print_text("metadataPath", info->metadata_path, out);
  print_text("bookmarksPath", info->bookmarks_path, out);
  print_text("tensorPath", info->tensor_path, out);
  if (info->tensor_shape.count) leat_string_builder_append_char(out, ',');
  print_sizes("tensorShape", &info->tensor_shape, out);
  if (info->sprite) {
    leat_string_builder_append(out, LEAT_SV(",\"sprite\":{"));
    print_sizes("singleImageDim", &info->sprite->single_image_dim, out);
    if (info->sprite->image_path.size) {
      if (info->sprite->single_image_dim.count) leat_string_builder_append_char(out, ',');
      leat_string_builder_append(out, LEAT_SV("\"imagePath\":"));
      board_json_string(out, info->sprite->image_path);
    }
    leat_string_builder_append_char(out, '}');
  }
  leat_string_builder_append_char(out, '}');
}

leat_status_t board_api_projector_info(board_api_t* api, const board_request_t* request,
                                       board_response_t* response) {
  const char* directory;
  leat_pb_projector_config_t config;
  leat_string_builder_t* out = &response->body;
  LEAT_RETURN_IF_ERROR(find(api, request, &directory, &config));
  leat_string_builder_append(out, LEAT_SV("{"));
  if (config.model_checkpoint_path.size) {
    leat_string_builder_append(out, LEAT_SV("\"modelCheckpointPath\":"));
    board_json_string(out, config.model_checkpoint_path);
  }
  if (config.embeddings.count) {
    if (config.model_checkpoint_path.size) leat_string_builder_append_char(out, ',');
    leat_string_builder_append(out, LEAT_SV("\"embeddings\":["));
    for (size_t i = 0; i < config.embeddings.count; ++i) {
      if (i) leat_string_builder_append_char(out, ',');
      print_embedding(&config.embeddings.items[i], out);
    }
    leat_string_builder_append_char(out, ']');
  }
  leat_string_builder_append_char(out, '}');
  return leat_ok_status();
}

// ---- Numbers ------------------------------------------------------------------------------------
static leat_status_t row_limit_of(const board_request_t* request, int64_t* out_limit) {
  leat_status_t status = board_api_int(request, "num_rows", INT32_MAX, out_limit);
  if (!status && *out_limit > 0) return leat_ok_status();
  leat_status_free(status);
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "query parameter num_rows must be integer > 0");
}

static void put(const void* data, size_t bytes, board_response_t* response) {
  leat_string_builder_append(&response->body, leat_string_view_make(data, bytes));
}

leat_status_t board_api_projector_tensor(board_api_t* api, const board_request_t* request,
                                         board_response_t* response) {
  const char* directory;
  leat_pb_projector_config_t config;
  leat_string_view_t name, run;
  board_matrix_t matrix;
  int64_t limit;
  LEAT_RETURN_IF_ERROR(require(request, "run", &run));
  LEAT_RETURN_IF_ERROR(require(request, "name", &name));
  LEAT_RETURN_IF_ERROR(row_limit_of(request, &limit));
  LEAT_RETURN_IF_ERROR(find(api, request, &directory, &config));
  LEAT_RETURN_IF_ERROR(board_embeddings_read(directory, &config, name, (size_t)limit,
                                             request->arena, &matrix));
  response->content_type = "application/octet-stream";
  put(matrix.values, matrix.rows * matrix.columns * sizeof(float), response);
  return leat_ok_status();
}

// Keeps at most |limit| rows, in equal distances.
static void thin(board_matrix_t* matrix, size_t limit) {
  size_t rows = matrix->rows, bytes = matrix->columns * sizeof(float);
  if (rows <= limit) return;
  for (size_t i = 0; i < limit; ++i) {
    size_t from = i * rows / limit;
    if (from != i) {
      memcpy(matrix->values + i * matrix->columns, matrix->values + from * matrix->columns, bytes);
    }
  }
  matrix->rows = limit;
}

leat_status_t board_api_projection(board_api_t* api, const board_request_t* request,
                                   board_response_t* response) {
  const char* directory;
  leat_pb_projector_config_t config;
  leat_string_view_t name, method;
  board_matrix_t matrix;
  int64_t dims, perplexity, neighbours;
  double shares[BOARD_PRINCIPAL_COUNT] = {0};
  float* points;
  LEAT_RETURN_IF_ERROR(require(request, "name", &name));
  LEAT_RETURN_IF_ERROR(require(request, "method", &method));
  LEAT_RETURN_IF_ERROR(board_api_int(request, "dims", 3, &dims));
  LEAT_RETURN_IF_ERROR(board_api_int(request, "perplexity", 30, &perplexity));
  LEAT_RETURN_IF_ERROR(board_api_int(request, "neighbours", 15, &neighbours));
  bool is_tsne = leat_string_view_equals(method, "tsne");
  bool is_umap = leat_string_view_equals(method, "umap"), compares_rows = is_tsne || is_umap;
  if ((!compares_rows && !leat_string_view_equals(method, "pca")) || dims < 2 || dims > 3 ||
      neighbours < 2) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "method must be pca, tsne or umap, dims 2 or 3, neighbours 2 or more");
  }
  LEAT_RETURN_IF_ERROR(find(api, request, &directory, &config));
  LEAT_RETURN_IF_ERROR(board_embeddings_read(directory, &config, name, SIZE_MAX, request->arena,
                                             &matrix));
  if (!matrix.rows || !matrix.columns) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "the tensor is empty");
  }
  uint32_t all = (uint32_t)matrix.rows;
  size_t limit = PRINCIPAL_ROWS, affordable = (size_t)sqrt(NEIGHBOUR_WORK / (double)matrix.columns);
  if (compares_rows) limit = affordable < BOARD_NEIGHBOUR_ROWS ? affordable : BOARD_NEIGHBOUR_ROWS;
  if (matrix.columns > (compares_rows ? NEIGHBOUR_COLUMNS : PRINCIPAL_FLOATS / 8)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "the tensor has %zu columns, which is too many",
                            matrix.columns);
  }
  if (limit > PRINCIPAL_FLOATS / matrix.columns) limit = PRINCIPAL_FLOATS / matrix.columns;
  thin(&matrix, limit);
  if (is_tsne) {
    LEAT_RETURN_IF_ERROR(board_project_neighbours(&matrix, (uint32_t)dims, (double)perplexity,
                                                  request->arena, &points));
  } else if (is_umap) {
    LEAT_RETURN_IF_ERROR(board_project_umap(&matrix, (uint32_t)dims, (size_t)neighbours,
                                            request->arena, &points));
  } else {
    dims = BOARD_PRINCIPAL_COUNT;
    LEAT_RETURN_IF_ERROR(board_project_principal(&matrix, request->arena, &points, shares));
  }
  uint32_t head[3] = {all, (uint32_t)matrix.rows, (uint32_t)dims};
  response->content_type = "application/octet-stream";
  put("LBP1", 4, response);
  put(head, sizeof head, response);
  for (int i = 0; i < BOARD_PRINCIPAL_COUNT; ++i) {
    float share = (float)shares[i];
    put(&share, sizeof share, response);
  }
  put(points, matrix.rows * (size_t)dims * sizeof(float), response);
  return leat_ok_status();
}

// ---- Files --------------------------------------------------------------------------------------
// Which file of an embedding is asked for.
typedef leat_string_view_t (*path_fn_t)(const leat_pb_embedding_info_t* info);

static leat_string_view_t metadata_of(const leat_pb_embedding_info_t* info) {
  return info->metadata_path;
}

static leat_string_view_t bookmarks_of(const leat_pb_embedding_info_t* info) {
  return info->bookmarks_path;
}

static leat_string_view_t sprite_of(const leat_pb_embedding_info_t* info) {
  return info->sprite ? info->sprite->image_path : leat_string_view_make("", 0);
}

static leat_status_t read_file(board_api_t* api, const board_request_t* request, path_fn_t path_of,
                               const char* what, leat_string_view_t* out_bytes) {
  const char* directory;
  leat_pb_projector_config_t config;
  leat_string_view_t run, name;
  LEAT_RETURN_IF_ERROR(require(request, "run", &run));
  LEAT_RETURN_IF_ERROR(require(request, "name", &name));
  LEAT_RETURN_IF_ERROR(find(api, request, &directory, &config));
  const leat_pb_embedding_info_t* info = board_embeddings_find(&config, name);
  leat_string_view_t path = info ? path_of(info) : leat_string_view_make("", 0);
  if (!path.size) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, CONFIG_ERROR, what, LEAT_SV_ARG(name));
  }
  leat_status_t status = board_embeddings_file(directory, path, request->arena, out_bytes);
  if (leat_status_code(status) != LEAT_NOT_FOUND) return status;
  // Here TensorBoard answers 400.
  leat_status_free(status);
  return leat_make_status(LEAT_INVALID_ARGUMENT, CONFIG_ERROR, what, LEAT_SV_ARG(name));
}

leat_status_t board_api_projector_metadata(board_api_t* api, const board_request_t* request,
                                           board_response_t* response) {
  leat_string_view_t text, line;
  int64_t limit;
  LEAT_RETURN_IF_ERROR(row_limit_of(request, &limit));
  LEAT_RETURN_IF_ERROR(read_file(api, request, metadata_of, "metadata", &text));
  leat_string_view_t rest = text;
  // The first line holds the names of columns.
  for (int64_t i = 0; i <= limit && leat_string_view_take_line(&rest, &line); ++i) continue;
  response->content_type = "text/plain; charset=utf-8";
  put(text.data, text.size - rest.size, response);
  return leat_ok_status();
}

leat_status_t board_api_projector_bookmarks(board_api_t* api, const board_request_t* request,
                                            board_response_t* response) {
  leat_string_view_t text;
  LEAT_RETURN_IF_ERROR(read_file(api, request, bookmarks_of, "bookmarks", &text));
  put(text.data, text.size, response);
  return leat_ok_status();
}

leat_status_t board_api_projector_sprite(board_api_t* api, const board_request_t* request,
                                         board_response_t* response) {
  leat_string_view_t bytes;
  LEAT_RETURN_IF_ERROR(read_file(api, request, sprite_of, "sprite image", &bytes));
  response->content_type = board_api_image_type(bytes);
  put(bytes.data, bytes.size, response);
  return leat_ok_status();
}
