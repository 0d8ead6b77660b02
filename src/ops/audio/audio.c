// Ops on sound: samples [frames, channels], their files, and what speech is recognised by.
#include "ops/family.h"

#define LEAT_AUDIO_SOURCES(X) \
  X(mfcc)                     \
  X(spectrogram)              \
  X(wav)

LEAT_OP_FAMILY(audio, LEAT_AUDIO_SOURCES)
