/* Formulas in postfix, worked out with 64 bits where 32 could be too few. docs/wire.md section 6. */
#include "extents.h"

#define DEPTH 8u
#define LIMIT 0x7FFFFFFF

/* Division rounds down. 0: no value. */
static int apply(char op, int32_t *left, int32_t right)
{
    int32_t a = *left, rest;
    int64_t value;
    if ((op == '/' || op == '%') && right <= 0)
        return 0;
    switch (op) {
    case '+': value = (int64_t)a + right; break;
    case '-': value = (int64_t)a - right; break;
    case '*': value = (int64_t)a * right; break;
    case '>': value = a > right; break;
    case '%':
        rest = a % right;
        value = rest < 0 ? rest + right : rest;
        break;
    case '/': value = a / right - (a % right < 0); break;
    case '<':
        if (right < 0 || right > 16)
            return 0;
        value = (int64_t)a * (1 << right);
        break;
    default: return 0;
    }
    *left = (int32_t)value;
    return value >= -LIMIT && value <= LIMIT;
}

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *number(const char *at, int32_t *value)
{
    for (*value = 0; is_digit(*at); at++)
        *value = *value * 10 + (*at - '0');
    return at;
}

/* The value of one formula; 0: it has none. */
static int value_of(const char *at, const struct call_argument *arguments, uint32_t n, int32_t *value)
{
    int32_t stack[DEPTH];
    uint32_t depth = 0, letter;
    while (*at != ',' && *at != 0) {
        if (*at >= 'a' || is_digit(*at)) {
            if (depth == DEPTH)
                return 0;
            letter = (uint32_t)(*at - 'a');
            if (is_digit(*at)) {
                at = number(at, &stack[depth++]);
            } else if (letter < n && arguments[letter].word <= LIMIT) {
                stack[depth++] = (int32_t)arguments[letter].word;
                at++;
            } else {
                return 0;
            }
        } else if (*at == ' ') {
            at++;
        } else {
            if (depth < 2 || !apply(*at++, &stack[depth - 2], stack[depth - 1]))
                return 0;
            depth--;
        }
    }
    *value = depth == 1 ? stack[0] : 0;
    return depth == 1;
}

static const char *next_formula(const char *at)
{
    while (*at != ',' && *at != 0)
        at++;
    return *at == ',' ? at + 1 : at;
}

static enum extent_problem check_numbers(const char *at, const struct call_argument *arguments, uint32_t n,
                                         uint32_t *which)
{
    int32_t value;
    for (uint32_t i = 0; i < n; i++, at = next_formula(at))
        if (!arguments[i].pointer && *at != ',' && *at != 0 && (!value_of(at, arguments, n, &value) || value <= 0)) {
            *which = i;
            return EXTENT_DOMAIN;
        }
    return EXTENT_NONE;
}

static enum extent_problem measure_pointers(const char *at, struct call_argument *arguments, uint32_t n,
                                            uint32_t *which)
{
    enum extent_problem problem = EXTENT_NONE;
    int32_t value;
    for (uint32_t i = 0; i < n; i++, at = next_formula(at)) {
        if (!arguments[i].pointer)
            continue;
        if (!value_of(at, arguments, n, &value)) {
            *which = i;
            return EXTENT_NO_VALUE;
        }
        arguments[i].bytes = value > 0 ? (uint32_t)value : 0;
        if (arguments[i].bytes > arguments[i].room && problem == EXTENT_NONE) {
            *which = i;
            problem = EXTENT_OUTSIDE;
        }
    }
    return problem;
}

static int overlap(const struct call_argument *a, const struct call_argument *b)
{
    return a->word < b->word + b->bytes && b->word < a->word + a->bytes && a->bytes != 0 && b->bytes != 0;
}

static enum extent_problem check_overlaps(const struct call_argument *arguments, uint32_t n, uint32_t *which)
{
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < i; k++)
            if (arguments[i].pointer && arguments[k].pointer && (arguments[i].written || arguments[k].written) &&
                overlap(&arguments[i], &arguments[k])) {
                *which = i;
                return EXTENT_OVERLAP;
            }
    return EXTENT_NONE;
}

enum extent_problem extents_check(const char *formulas, struct call_argument *arguments, uint32_t n, uint32_t *which)
{
    enum extent_problem problem = check_numbers(formulas, arguments, n, which);
    if (problem == EXTENT_NONE)
        problem = measure_pointers(formulas, arguments, n, which);
    return problem == EXTENT_NONE ? check_overlaps(arguments, n, which) : problem;
}
