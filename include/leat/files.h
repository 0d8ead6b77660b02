/* leat/files.h: TensorFlow's files without a graph: event files to write, checkpoints and
 * records to read and write. Handles belong to one thread at a time. Errors come in |status|,
 * naming the file: NOT_FOUND, PERMISSION_DENIED, DATA_LOSS (a checksum does not fit),
 * RESOURCE_EXHAUSTED (full disk). */
#ifndef LEAT_FILES_H_
#define LEAT_FILES_H_

#include "tensorflow/c/c_api.h"
#include "tensorflow/c/env.h"

#ifdef __cplusplus
extern "C" {
#endif

/* - Events --------------------------------------------------------------------------------------
 * What TensorBoard shows. The file is <directory>/events.out.tfevents.<time>.<host>.
 *
 *   leat_events_t* events = leat_events_open("logs", status);
 *   leat_events_add_scalar(events, step, "loss", 0.25, status);
 *   leat_events_close(events, status);                                                          */
typedef struct leat_events_t leat_events_t;
TF_CAPI_EXPORT extern leat_events_t* leat_events_open(const char* directory, TF_Status* status);
TF_CAPI_EXPORT extern void leat_events_add_scalar(leat_events_t* events, int64_t step,
                                                  const char* tag, double value,
                                                  TF_Status* status);
/* A histogram of |count| values in TensorFlow's exponential buckets. */
TF_CAPI_EXPORT extern void leat_events_add_histogram(leat_events_t* events, int64_t step,
                                                     const char* tag, const double* values,
                                                     size_t count, TF_Status* status);
TF_CAPI_EXPORT extern void leat_events_add_graph(leat_events_t* events, TF_Graph* graph,
                                                 TF_Status* status);
/* A serialised Summary, as the summary ops make them. */
TF_CAPI_EXPORT extern void leat_events_add_summary(leat_events_t* events, int64_t step,
                                                   const void* summary, size_t size,
                                                   TF_Status* status);
TF_CAPI_EXPORT extern void leat_events_flush(leat_events_t* events, TF_Status* status);
/* Flushes and frees; NULL is allowed. */
TF_CAPI_EXPORT extern void leat_events_close(leat_events_t* events, TF_Status* status);

/* - Checkpoints ---------------------------------------------------------------------------------
 *   leat_checkpoint_t* c = leat_checkpoint_open("ckpt/model.ckpt-100", status);
 *   for (size_t i = 0; i < leat_checkpoint_count(c); ++i) puts(leat_checkpoint_name(c, i));
 *   TF_Tensor* w = leat_checkpoint_read(c, "w", status);
 *   leat_checkpoint_close(c);                                                                   */
typedef struct leat_checkpoint_t leat_checkpoint_t;
/* |prefix| as TensorFlow names checkpoints, without ".index"; a checkpoint of the first version is
 * a file of that name, or its shards; |prefix| may also be the pattern of their files. */
TF_CAPI_EXPORT extern leat_checkpoint_t* leat_checkpoint_open(const char* prefix,
                                                              TF_Status* status);
TF_CAPI_EXPORT extern void leat_checkpoint_close(leat_checkpoint_t* checkpoint);
TF_CAPI_EXPORT extern size_t leat_checkpoint_count(const leat_checkpoint_t* checkpoint);
/* Borrowed, sorted by name. */
TF_CAPI_EXPORT extern const char* leat_checkpoint_name(const leat_checkpoint_t* checkpoint,
                                                       size_t index);
/* |dims| may be NULL, else has room for |max_rank| sizes; returns the rank, or -1. */
TF_CAPI_EXPORT extern int leat_checkpoint_shape(const leat_checkpoint_t* checkpoint, size_t index,
                                                TF_DataType* out_dtype, int64_t* dims,
                                                int max_rank);
/* The caller deletes the tensor. */
TF_CAPI_EXPORT extern TF_Tensor* leat_checkpoint_read(leat_checkpoint_t* checkpoint,
                                                      const char* name, TF_Status* status);
/* The newest checkpoint that the state file in |directory| names and that is there; freed with
 * free(). NULL with NOT_FOUND when there is no state file. */
TF_CAPI_EXPORT extern char* leat_checkpoint_latest(const char* directory, TF_Status* status);
/* The same with older ones: |index| 0 is the newest, as above, 1 the next that is there.
 * OUT_OF_RANGE when there are not so many. */
TF_CAPI_EXPORT extern char* leat_checkpoint_at(const char* directory, int index,
                                               TF_Status* status);
/* Puts |prefix| (in |directory|) at the head of the state file, keeps the newest |keep| and removes
 * the files of the others. */
TF_CAPI_EXPORT extern void leat_checkpoint_publish(const char* directory, const char* prefix,
                                                   int keep, TF_Status* status);

/* Removes the files of a checkpoint, its index first; those that are absent are no error. The state
 * file is left alone. */
TF_CAPI_EXPORT extern void leat_checkpoint_remove(const char* prefix, TF_Status* status);

/* ---- Records (TFRecord) ---------------------------------------------------------------------*/
typedef struct leat_records_t leat_records_t;
TF_CAPI_EXPORT extern leat_records_t* leat_records_open(const char* path, TF_Status* status);
/* |compression| of the whole file as TensorFlow names it: "GZIP", "ZLIB", "SNAPPY" (to read only),
 * "" or NULL for none; INVALID_ARGUMENT for others. GZIP and ZLIB need the module zlib:
 * UNIMPLEMENTED, naming the package to install, where it is absent. No record of a compressed file
 * is over 2 GiB: INVALID_ARGUMENT. */
TF_CAPI_EXPORT extern leat_records_t* leat_records_open_compressed(const char* path,
                                                                   const char* compression,
                                                                   TF_Status* status);
/* The next record, borrowed until the next call; NULL and OUT_OF_RANGE at the end. An
 * empty record is not NULL. */
TF_CAPI_EXPORT extern const void* leat_records_next(leat_records_t* records, size_t* out_size,
                                                    TF_Status* status);
TF_CAPI_EXPORT extern void leat_records_close(leat_records_t* records);
typedef struct leat_records_writer_t leat_records_writer_t;
/* The file is made, or emptied. */
TF_CAPI_EXPORT extern leat_records_writer_t* leat_records_create(const char* path,
                                                                 TF_Status* status);
TF_CAPI_EXPORT extern void leat_records_write(leat_records_writer_t* writer, const void* data,
                                              size_t size, TF_Status* status);
TF_CAPI_EXPORT extern leat_records_writer_t* leat_records_create_compressed(
    const char* path, const char* compression, TF_Status* status);
/* How zlib compresses, in the numbers of zlib.h. The bytes of a file depend on nothing else. */
typedef struct leat_zlib_options_t {
  int level;            /* 0 stores, 1 is fast, 9 is small; -1 takes zlib's default */
  int window_bits;      /* 8 to 15 for ZLIB, 16 more for GZIP, negative for bare deflate, which
                         * leat_records_open_compressed does not read */
  int memory_level;     /* 1 to 9 */
  int strategy;         /* 0 to 4: default, filtered, Huffman only, runs, fixed codes */
  int flush_mode;       /* 0, or one of zlib's flushes (1 partial, 2 sync, 3 full, 5 block), which
                         * happens whenever |input_bytes| are full */
  int64_t input_bytes;  /* how much is collected before it is compressed */
} leat_zlib_options_t;
/* What leat_records_create_compressed takes for |compression|. */
TF_CAPI_EXPORT extern leat_zlib_options_t leat_zlib_options_default(const char* compression);
/* |options| hold for GZIP and ZLIB; INVALID_ARGUMENT where zlib does not have them. */
TF_CAPI_EXPORT extern leat_records_writer_t* leat_records_create_with_options(
    const char* path, const char* compression, const leat_zlib_options_t* options,
    TF_Status* status);
/* Makes the records so far readable, also those of a compressed file. Nothing waits for the disk:
 * that is what leat_records_finish does. */
TF_CAPI_EXPORT extern void leat_records_flush(leat_records_writer_t* writer, TF_Status* status);
/* Syncs, closes and frees; NULL is allowed. */
TF_CAPI_EXPORT extern void leat_records_finish(leat_records_writer_t* writer, TF_Status* status);

/* - Files of any file system ---------------------------------------------------------------------
 * What tensorflow/c/env.h has no function for. As there, a path that begins with a scheme
 * ("gs://bucket/name") goes to the file system of the plug-in that registered it: UNIMPLEMENTED
 * where none did. An empty path is INVALID_ARGUMENT. */
typedef struct leat_readable_file_t leat_readable_file_t;
TF_CAPI_EXPORT extern leat_readable_file_t* leat_readable_file_open(const char* path,
                                                                    TF_Status* status);
/* Reads |size| bytes at |offset|, fewer only at the end of the file; returns how many. */
TF_CAPI_EXPORT extern size_t leat_readable_file_read(leat_readable_file_t* file, uint64_t offset,
                                                     void* data, size_t size, TF_Status* status);
/* NULL is allowed. */
TF_CAPI_EXPORT extern void leat_readable_file_close(leat_readable_file_t* file);
/* A file that is written behind what it holds, and made where there is none. It is written and
 * closed by env.h's functions. */
TF_CAPI_EXPORT extern TF_WritableFileHandle* leat_writable_file_append(const char* path,
                                                                       TF_Status* status);
/* Replaces |to| where that is a file; both lie on one file system, UNIMPLEMENTED otherwise. */
TF_CAPI_EXPORT extern void leat_path_rename(const char* from, const char* to, TF_Status* status);
/* The paths that match |pattern| (* ? [] in any part), in byte order, for TF_StringStreamNext. NULL
 * on error. */
TF_CAPI_EXPORT extern TF_StringStream* leat_path_match(const char* pattern, TF_Status* status);

#ifdef __cplusplus
}
#endif

#endif /* LEAT_FILES_H_ */
