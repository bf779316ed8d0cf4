/* Numbers of the tensors in the lists of emu_models.h, and typed access to them. */
#ifndef EMU_MODEL_TENSORS_H
#define EMU_MODEL_TENSORS_H

#include "emu_models.h"

/* A layer stands at its matrix; int8: .w .w.scale .b; int4 and ternary: .w .w.scale. A block's tensors stand at
 * block + number. */
enum t2i_tensor {
    T2I_WORDS,
    T2I_TXT_EMB,
    T2I_TXT_POS,
    T2I_TXT_NULL,
    T2I_TXT_BLOCK,
    T2I_TXT_BLOCK_SIZE = 16,
    TXT_LN1_W = 0,
    TXT_LN1_B = 1,
    TXT_QKV = 2,
    TXT_PROJ = 5,
    TXT_LN2_W = 8,
    TXT_LN2_B = 9,
    TXT_FC1 = 10,
    TXT_FC2 = 13,
    T2I_TXT_LN_W = 36,
    T2I_TXT_LN_B,
    T2I_TXT_FC1,
    T2I_TXT_FC2 = 41,
    T2I_TIME_FREQ = 44,
    T2I_TIME_FC1,
    T2I_TIME_FC2 = 48,
    T2I_MOD = 51,
    T2I_PATCH = 54,
    T2I_POS = 57,
    T2I_BLOCK = 58,
    T2I_BLOCK_SIZE = 13,
    BLOCK_TABLE = 0,
    BLOCK_QKV = 1,
    BLOCK_PROJ = 4,
    BLOCK_FC1 = 7,
    BLOCK_FC2 = 10,
    T2I_FINAL_MOD = 136,
    T2I_FINAL = 139,
    T2I_DEC_CONV = 142, /* + 3 k */
    T2I_DEC_S_IN = 172,
    T2I_GELU_VALUE,
    T2I_GELU_SLOPE,
    T2I_TENSORS
};

enum ternary_tensor {
    TERNARY_EMB,
    TERNARY_POS,
    TERNARY_LAYER,
    TERNARY_LAYER_SIZE = 10,
    TERNARY_NORM1 = 0,
    TERNARY_QKV = 1,
    TERNARY_PROJ = 3,
    TERNARY_NORM2 = 5,
    TERNARY_FC1 = 6,
    TERNARY_FC2 = 8,
    TERNARY_HEAD_W = 42,
    TERNARY_HEAD_B,
    TERNARY_TENSORS
};

enum tinylm_tensor {
    TINYLM_START,
    TINYLM_BYTES,
    TINYLM_EMB,
    TINYLM_HEAD = 4,
    TINYLM_PLE = 6,
    TINYLM_PROJ = 8,
    TINYLM_PLE_NORM = 10,
    TINYLM_NORM,
    TINYLM_LAYER,
    TINYLM_LAYER_SIZE = 17,
    LAYER_NORM1 = 0,
    LAYER_NORM2 = 1,
    LAYER_NORM3 = 2,
    LAYER_QKV = 3,
    LAYER_O = 5,
    LAYER_GATE = 7,
    LAYER_UP = 9,
    LAYER_DOWN = 11,
    LAYER_PLE_GATE = 13,
    LAYER_PLE_PROJ = 15,
    TINYLM_ROPE = 114,
    TINYLM_GELU_VALUE,
    TINYLM_GELU_SLOPE,
    TINYLM_TENSORS
};

static inline const float *model_floats(const struct emu_model *model, int32_t id)
{
    return model->data[id];
}

/* An int8 layer. */
struct model_layer {
    const int8_t *w;
    const float *sw;
    const float *b;
};

static inline struct model_layer model_layer(const struct emu_model *model, int32_t id)
{
    return (struct model_layer){model->data[id], model->data[id + 1], model->data[id + 2]};
}

#endif
