// What a supervisor needs of a saver beside leat/train.h: to restore the newest checkpoint that can
// be read, whichever that is.
#ifndef LEAT_CLIENT_SAVER_H_
#define LEAT_CLIENT_SAVER_H_

#include "leat/train.h"

// Restores the newest checkpoint of the directory that can be read. For each that cannot, since a
// file is missing or damaged, |skip|(|data|, prefix, why) is called and an older one is tried. The
// caller frees |*out_prefix|; it is NULL, with OK, where there has never been a checkpoint. Where
// there are some and none can be read, the status is that of the newest.
void leat_saver_restore_newest(leat_saver_t* saver, TF_Session* session, int64_t* out_step,
                               char** out_prefix,
                               void (*skip)(void* data, const char* prefix, const TF_Status* why),
                               void* data, TF_Status* status);

#endif  // LEAT_CLIENT_SAVER_H_
