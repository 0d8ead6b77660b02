// CRC-32C (Castagnoli), the checksum of LevelDB tables, TFRecord files and checkpoints. It is
// computed by the CPU's instruction where there is one, at several bytes a cycle, and from tables
// elsewhere. It finds bytes that a disk or a network changed, not bytes that somebody changed on
// purpose.
//
// Data that comes in pieces is summed piece by piece:
//
//   uint32_t crc = leat_crc32c(header, header_size);
//   crc = leat_crc32c_extend(crc, body, body_size);  // of header and body together
#ifndef LEAT_BASE_CRC32C_H_
#define LEAT_BASE_CRC32C_H_

#include <stddef.h>
#include <stdint.h>

// Continues |crc|, which is that of the bytes before (0 at the start), over |size| bytes. |data|
// may lie at any alignment. Any thread.
uint32_t leat_crc32c_extend(uint32_t crc, const void* data, size_t size);
static inline uint32_t leat_crc32c(const void* data, size_t size) {
  return leat_crc32c_extend(0, data, size);
}
// The form in which a file stores a crc, of LevelDB's making: a crc of data that itself holds crcs
// is weak, so the bits are rotated and a constant is added.
static inline uint32_t leat_crc32c_mask(uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}
static inline uint32_t leat_crc32c_unmask(uint32_t masked) {
  uint32_t rotated = masked - 0xa282ead8u;
  return (rotated >> 17) | (rotated << 15);
}

#endif  // LEAT_BASE_CRC32C_H_
