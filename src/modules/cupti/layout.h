// What the module knows of CUPTI's bytes: NVIDIA documents its records as packed structs that only
// grow at their ends, so that a field stays where it is in all versions. Here is where the fields
// lie that are read, and what the constants are, as lists: module.c makes enumerators of them, and
// tests/oracle/cupti_oracle.py holds them against NVIDIA's own headers, of which the build needs
// none.
#ifndef LEAT_MODULES_CUPTI_LAYOUT_H_
#define LEAT_MODULES_CUPTI_LAYOUT_H_

// The versions of CUPTI whose records were compared: of CUDA 11.8 up to those of CUDA 13, which
// count otherwise.
#define CUPTI_FIRST_VERSION 18
#define CUPTI_LAST_VERSION 139999

// FIELD(record, name of ours, NVIDIA's name, offset)
#define CUPTI_FIELDS(FIELD)                 \
  FIELD(KERNEL, START, start, 16)           \
  FIELD(KERNEL, END, end, 24)               \
  FIELD(KERNEL, DEVICE, deviceId, 40)       \
  FIELD(KERNEL, CONTEXT, contextId, 44)     \
  FIELD(KERNEL, STREAM, streamId, 48)       \
  FIELD(KERNEL, CORRELATION, correlationId, 92) \
  FIELD(KERNEL, NAME, name, 104)            \
  FIELD(COPY, DIRECTION, copyKind, 4)       \
  FIELD(COPY, START, start, 16)             \
  FIELD(COPY, END, end, 24)                 \
  FIELD(COPY, DEVICE, deviceId, 32)         \
  FIELD(COPY, CONTEXT, contextId, 36)       \
  FIELD(COPY, STREAM, streamId, 40)         \
  FIELD(COPY, CORRELATION, correlationId, 44) \
  FIELD(PEER_COPY, START, start, 16)        \
  FIELD(PEER_COPY, END, end, 24)            \
  FIELD(PEER_COPY, DEVICE, deviceId, 32)    \
  FIELD(PEER_COPY, CONTEXT, contextId, 36)  \
  FIELD(PEER_COPY, STREAM, streamId, 40)    \
  FIELD(PEER_COPY, CORRELATION, correlationId, 60) \
  FIELD(FILL, START, start, 16)             \
  FIELD(FILL, END, end, 24)                 \
  FIELD(FILL, DEVICE, deviceId, 32)         \
  FIELD(FILL, CONTEXT, contextId, 36)       \
  FIELD(FILL, STREAM, streamId, 40)         \
  FIELD(FILL, CORRELATION, correlationId, 44) \
  FIELD(CALL, START, start, 8)              \
  FIELD(CALL, END, end, 16)                 \
  FIELD(CALL, THREAD, threadId, 28)         \
  FIELD(CALL, CORRELATION, correlationId, 32)

// NUMBER(name of ours, NVIDIA's name, value)
#define CUPTI_NUMBERS(NUMBER)                                               \
  NUMBER(KIND_COPY, CUPTI_ACTIVITY_KIND_MEMCPY, 1)                          \
  NUMBER(KIND_FILL, CUPTI_ACTIVITY_KIND_MEMSET, 2)                          \
  NUMBER(KIND_KERNEL, CUPTI_ACTIVITY_KIND_KERNEL, 3)                        \
  NUMBER(KIND_DRIVER, CUPTI_ACTIVITY_KIND_DRIVER, 4)                        \
  NUMBER(KIND_RUNTIME, CUPTI_ACTIVITY_KIND_RUNTIME, 5)                      \
  NUMBER(KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 10) \
  NUMBER(KIND_PEER_COPY, CUPTI_ACTIVITY_KIND_MEMCPY2, 22)                   \
  NUMBER(HOST_TO_DEVICE, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, 1)                \
  NUMBER(DEVICE_TO_HOST, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, 2)                \
  NUMBER(HOST_TO_ARRAY, CUPTI_ACTIVITY_MEMCPY_KIND_HTOA, 3)                 \
  NUMBER(ARRAY_TO_HOST, CUPTI_ACTIVITY_MEMCPY_KIND_ATOH, 4)                 \
  NUMBER(PEER_TO_PEER, CUPTI_ACTIVITY_MEMCPY_KIND_PTOP, 10)                 \
  NUMBER(SYSTEM_THREAD_IDS, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM, 1)        \
  NUMBER(FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED, 1)                 \
  NUMBER(SUCCESS, CUPTI_SUCCESS, 0)                                         \
  NUMBER(OUT_OF_MEMORY, CUPTI_ERROR_OUT_OF_MEMORY, 8)                       \
  NUMBER(MAX_LIMIT_REACHED, CUPTI_ERROR_MAX_LIMIT_REACHED, 12)              \
  NUMBER(INVALID_KIND, CUPTI_ERROR_INVALID_KIND, 21)

#endif  // LEAT_MODULES_CUPTI_LAYOUT_H_
