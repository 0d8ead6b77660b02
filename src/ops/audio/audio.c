// The family of ops on sound: samples [frames, channels], their files, and the features by which
// speech is recognised.
#include "ops/family.h"

#define LEAT_AUDIO_SOURCES(X) \
  X(mfcc)                     \
  X(spectrogram)              \
  X(wav)

LEAT_OP_FAMILY(audio, LEAT_AUDIO_SOURCES)
