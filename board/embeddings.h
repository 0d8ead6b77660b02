// Embeddings: the matrices that a run's directory holds for the projector, in its newest checkpoint
// or in files, and what belongs to them. projector_config.pbtxt names them; without it they are all
// matrices of the checkpoint. No file outside the directory of the run is read, whatever the
// configuration says.
#ifndef LEAT_BOARD_EMBEDDINGS_H_
#define LEAT_BOARD_EMBEDDINGS_H_

#include "base/arena.h"
#include "formats/generated/projector_config.h"

#define BOARD_EMBEDDING_FLOATS ((size_t)1 << 26)  // of one matrix, at most

// Whether the directory holds a configuration or a checkpoint; it says so without reading them.
bool board_embeddings_may_exist(const char* directory);
// The embeddings of the directory, with the names and shapes that can be told, in |arena|.
// INVALID_ARGUMENT for a configuration that is none.
LEAT_MUST_USE leat_status_t board_embeddings_list(const char* directory, leat_arena_t* arena,
                                                  leat_pb_projector_config_t* out_config);
// The embedding |name|, which may end with ":0"; NULL where the configuration has none.
const leat_pb_embedding_info_t* board_embeddings_find(const leat_pb_projector_config_t* config,
                                                      leat_string_view_t name);

typedef struct board_matrix_s {
  size_t rows, columns;
  float* values;  // row by row
} board_matrix_t;

// The tensor |name|, of any shape: a file of the configuration, else one of the checkpoint. Its
// rows are those of its first dimension, of which at most |row_limit| are kept. INVALID_ARGUMENT
// where there is none, or where it has more than BOARD_EMBEDDING_FLOATS numbers.
LEAT_MUST_USE leat_status_t board_embeddings_read(const char* directory,
                                                  const leat_pb_projector_config_t* config,
                                                  leat_string_view_t name, size_t row_limit,
                                                  leat_arena_t* arena, board_matrix_t* out_matrix);
// A file that the configuration names. INVALID_ARGUMENT for a path that leads out of the
// directory, NOT_FOUND.
LEAT_MUST_USE leat_status_t board_embeddings_file(const char* directory, leat_string_view_t path,
                                                  leat_arena_t* arena,
                                                  leat_string_view_t* out_bytes);

#endif  // LEAT_BOARD_EMBEDDINGS_H_
