// Numbers of the table format that reader and writer share.
#ifndef LEAT_FORMATS_TABLE_FORMAT_H_
#define LEAT_FORMATS_TABLE_FORMAT_H_

#include <stdint.h>

#define LEAT_TABLE_MAGIC UINT64_C(0xdb4775248b80fb57)
#define LEAT_TABLE_FOOTER_BYTES 48
#define LEAT_TABLE_TRAILER_BYTES 5
#define LEAT_TABLE_RESTART_INTERVAL 16
#define LEAT_TABLE_UNCOMPRESSED 0
#define LEAT_TABLE_SNAPPY 1

#endif  // LEAT_FORMATS_TABLE_FORMAT_H_
