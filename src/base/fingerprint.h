// Hashes of bytes that are the same on every machine and in every version, as TensorFlow's are:
// answers of ops and names in files rest on them.
#ifndef LEAT_BASE_FINGERPRINT_H_
#define LEAT_BASE_FINGERPRINT_H_

#include "base/string_view.h"

// FarmHash's Fingerprint64.
uint64_t leat_fingerprint64(leat_string_view_t bytes);
// The older one: MurmurHash64A with TensorFlow's seed.
uint64_t leat_fingerprint_murmur(leat_string_view_t bytes);
// SipHash-2-4, which nobody without |key| can make collide.
uint64_t leat_fingerprint_keyed(const uint64_t key[2], leat_string_view_t bytes);

#endif  // LEAT_BASE_FINGERPRINT_H_
