#include "layers.hpp"

namespace nn {

int8_t Layer::scaled(int32_t sum) const
{
    int64_t exact = static_cast<int64_t>(sum) * scale_.factor;
    int32_t value = static_cast<int32_t>((exact + (1 << 15)) >> 16) + scale_.zero;
    return static_cast<int8_t>(value > 127 ? 127 : value < -128 ? -128 : value);
}

Dense::Dense(const int8_t *weights, int rows, int cols, Scale scale)
    : weights_(weights), rows_(static_cast<int16_t>(rows)), cols_(static_cast<int16_t>(cols))
{
    scale_ = scale;
}

void Dense::run(const int8_t *input, int8_t *output)
{
    calls_++;
    const int8_t *row = weights_;
    for (int r = 0; r < outputs(); r++, row += cols_) {
        int32_t sum = 0;
        for (int c = 0; c < cols_; c++)
            sum += row[c] * input[c];
        output[r] = scaled(sum);
    }
}

Pool::Pool(int width) : width_(width) {}

void Pool::run(const int8_t *input, int8_t *output)
{
    calls_++;
    for (int i = 0; i < outputs(); i++)
        output[i] = scaled(input[2 * i] > input[2 * i + 1] ? input[2 * i] : input[2 * i + 1]);
}

} // namespace nn
