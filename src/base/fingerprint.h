// Hashes of bytes that are the same on every machine and in every version, as TensorFlow's are:
// answers of ops and names in files rest on them. A trained model depends on which bucket a string
// falls into, so no bit of them may ever change. For a map in memory leat_string_view_hash
// (base/string_view.h) is faster.
#ifndef LEAT_BASE_FINGERPRINT_H_
#define LEAT_BASE_FINGERPRINT_H_

#include "base/string_view.h"

// FarmHash's Fingerprint64, the one that ops name "Fast".
uint64_t leat_fingerprint64(leat_string_view_t bytes);
// FarmHash's Fingerprint128, by which SDCA knows an example again: the low and the high word.
void leat_fingerprint128(leat_string_view_t bytes, uint64_t out_words[2]);
// The older one: MurmurHash64A with TensorFlow's seed, which ops without "Fast" or "Strong" in
// their name use.
uint64_t leat_fingerprint_murmur(leat_string_view_t bytes);
uint64_t leat_fingerprint_murmur_seeded(uint64_t seed, leat_string_view_t bytes);
// SipHash-2-4, the one that ops name "Strong": nobody without |key| can choose strings that
// collide.
uint64_t leat_fingerprint_keyed(const uint64_t key[2], leat_string_view_t bytes);

#endif  // LEAT_BASE_FINGERPRINT_H_
