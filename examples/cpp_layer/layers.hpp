#pragma once

#include <stdint.h>

namespace nn {

/* A scale as a fraction of 2^16, and where zero lies. */
struct Scale {
    int32_t factor;
    int8_t zero;
};

class Layer {
  public:
    virtual void run(const int8_t *input, int8_t *output) = 0;
    virtual int outputs() const = 0;
    uint32_t calls() const { return calls_; }

  protected:
    int8_t scaled(int32_t sum) const;

    uint32_t calls_ = 0;
    Scale scale_ = { 1 << 16, 0 };
};

class Dense final : public Layer {
  public:
    Dense(const int8_t *weights, int rows, int cols, Scale scale);
    void run(const int8_t *input, int8_t *output) override;
    int outputs() const override { return rows_; }

  private:
    const int8_t *weights_;
    int16_t rows_, cols_;
};

class Pool final : public Layer {
  public:
    explicit Pool(int width);
    void run(const int8_t *input, int8_t *output) override;
    int outputs() const override { return width_ / 2; }

  private:
    int width_;
};

} // namespace nn
