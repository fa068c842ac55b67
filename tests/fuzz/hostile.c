/* hostile.c - a fuzz harness: every public function with arguments that nobody should give it.

   All memory is one arena.  Calls start from sound ones whose arrays lie in it one behind the other; then a
   few fields become anything.  A second opinion on the rules of the interface says what must come of it: an
   error, after which no byte of the arena has changed, or success, after which none has but those of the
   outputs.  Where a call would be sound, had the arena been larger, it is not made. */
#include "fuzz.h"

#include <float.h>
#include <math.h>
#include <limits.h>

#if LDBL_MANT_DIG < 64
#  error "sizes are counted in long double here, exactly as far as addresses go"
#endif

enum { ARENA = 1 << 14, MOST_WORK = 100000 }; /* bytes, multiply-adds */

static union {
  unsigned char bytes[ARENA];
  double        aligned;
} arena, before;

/* ---- Anything ---- */

static size_t any_size(void) {
  static const size_t often[] = { 0, 1, 2, 3, SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 4, SIZE_MAX / 8,
                                  SIZE_MAX / 16, (size_t)1 << 31, (size_t)1 << 32, 65535, 131071, 512 };
  size_t n = often[rng_below(sizeof often / sizeof often[0])];
  if (rng_chance(30)) return rng_below(40);
  if (rng_chance(20)) return (size_t)rng() >> rng_below(64);
  return rng_chance(30) ? n + rng_below(9) - 4 : n;
}
static ptrdiff_t any_signed(void) {
  static const ptrdiff_t often[] = { 0, 1, -1, PTRDIFF_MAX, PTRDIFF_MIN, PTRDIFF_MAX / 2, PTRDIFF_MAX / 4,
                                     -(PTRDIFF_MAX / 4), PTRDIFF_MAX / 8, INT_MAX, INT_MIN };
  ptrdiff_t n = often[rng_below(sizeof often / sizeof often[0])], d = (ptrdiff_t)rng_below(9) - 4;
  if (rng_chance(40)) return (ptrdiff_t)rng_below(60) - 5;
  return rng_chance(30) && n < PTRDIFF_MAX - 4 && n > PTRDIFF_MIN + 4 ? n + d : n;
}
static float any_float(void) {
  static const uint32_t often[] = { 0, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f7fffff, 0xff7fffff,
                                    0x00000001, 0x3f800000, 0xbf800000, 0x00800000 };
  return rng_chance(60) ? from_bits(often[rng_below(11)]) : rng_chance(50) ? rng_normal()
                                                                           : from_bits((uint32_t)rng());
}
static void *any_pointer(void) {
  if (rng_chance(15)) return NULL;
  if (rng_chance(15)) return (void *)(UINTPTR_MAX - rng_below(300));
  if (rng_chance(50)) return arena.bytes + rng_below(ARENA / 8) * 8;
  return arena.bytes + rng_below(ARENA);
}
static int      any_int(int most) { return rng_chance(80) ? (int)rng_below((size_t)most + 1) : (int)rng(); }
static unsigned any_flag_bits(void) { return rng_chance(80) ? (unsigned)rng_below(16) : (unsigned)rng(); }

/* The next bytes of the arena, aligned for anything. */
static size_t arena_used;
static void  *room(size_t bytes) {
  void *p = arena.bytes + arena_used;
  arena_used += (bytes + 7) / 8 * 8;
  return CHECK(arena_used <= ARENA, "the arena is too small") ? p : NULL;
}

/* ---- A second opinion: what the interface says about arrays ----

   Sizes are long doubles: whole numbers that an address can hold are exact, and what is beyond stays so. */

typedef long double wide;

typedef enum { SOUND, OUTSIDE, REFUSED } verdict;

typedef struct {
  const void *p;
  size_t      bytes;
  int         output, may_be; /* of this range, too: o that is q */
} range;

static range  ranges[24];
static size_t range_count;
static verdict opinion; /* so far: the worst */

static void say(verdict v) {
  if (v > opinion) opinion = v;
}
static void start_over(void) {
  opinion = SOUND;
  range_count = 0;
}

/* An array of so many elements, of which there may be none. */
static void has_array(const void *p, wide elements, size_t bytes, size_t align, int output) {
  const uintptr_t at = (uintptr_t)p, first = (uintptr_t)arena.bytes;
  range          *r = &ranges[range_count];
  wide            end = elements * (wide)bytes;
  if (elements <= 0) return;
  if (!p || end > (wide)PTRDIFF_MAX || (wide)at + end > (wide)UINTPTR_MAX || at % align) {
    say(REFUSED);
    return;
  }
  if (at < first || (wide)(at - first) + end > (wide)ARENA) say(OUTSIDE);
  r->p = p;
  r->bytes = (size_t)end;
  r->output = output;
  r->may_be = 0;
  range_count++;
}

/* 256 entries, of which only the alignment can be told to be wrong. */
static void has_table(const void *p) {
  const uintptr_t at = (uintptr_t)p, first = (uintptr_t)arena.bytes;
  if (!p || at % 4) say(REFUSED);
  else if (at < first || at - first > ARENA - 1024) say(OUTSIDE);
  else has_array(p, 256, 4, 4, 1);
}

/* No output touches anything else. */
static int apart(void) {
  size_t n, m;
  for (n = 0; n < range_count; n++)
    for (m = 0; m < range_count; m++) {
      const range *a = &ranges[n], *b = &ranges[m];
      if (n == m || !a->output || (a->may_be && b->may_be)) continue;
      if ((uintptr_t)a->p < (uintptr_t)b->p + b->bytes && (uintptr_t)b->p < (uintptr_t)a->p + a->bytes)
        return 0;
    }
  return 1;
}

/* Elements from the first to behind the last of (batch, heads, len, channels); refuses negative strides. */
static wide extent(mha_strides s, size_t batch, size_t heads, size_t len, size_t channels) {
  if (s.batch < 0 || s.head < 0 || s.row < 0) {
    say(REFUSED);
    return 0;
  }
  if (!batch || !heads || !len || !channels) return 0;
  return (wide)(batch - 1) * (wide)s.batch + (wide)(heads - 1) * (wide)s.head +
         (wide)(len - 1) * (wide)s.row + (wide)channels;
}
/* The same where no stride at all means packed rows, `room` of them in each member of the batch. */
static wide extent_or_packed(mha_strides s, size_t batch, size_t heads, size_t len, size_t channels,
                             size_t room) {
  if (s.batch || s.head || s.row) return extent(s, batch, heads, len, channels);
  if (!batch || !heads || !len || !channels) return 0;
  return ((wide)(batch - 1) * (wide)room + (wide)len) * (wide)heads * (wide)channels;
}

/* Do rows share an element?  Row by row, of arrays that lie in the arena. */
static int rows_meet(mha_strides s, size_t batch, size_t heads, size_t len, size_t channels) {
  static unsigned char taken[ARENA];
  size_t               b, h, i, c;
  if (!len) return 0;
  memset(taken, 0, sizeof taken);
  for (b = 0; b < batch; b++)
    for (h = 0; h < heads; h++)
      for (i = 0; i < len; i++) {
        const size_t at = b * (size_t)s.batch + h * (size_t)s.head + i * (size_t)s.row;
        for (c = 0; c < channels; c++)
          if (taken[at + c]++) return 1;
      }
  return 0;
}

/* Do rows coincide or interleave: is a stride too short for all that lies within it? */
static int interleaved(mha_strides s, size_t batch, size_t heads, size_t len, size_t channels) {
  const wide count[] = { (wide)batch, (wide)heads, (wide)len };
  const wide step[] = { (wide)s.batch, (wide)s.head, (wide)s.row };
  int        k, m, found = 0;
  if (!s.batch && !s.head && !s.row) return 0;
  for (k = 0; k < 3; k++) {
    wide within = (wide)channels;
    for (m = 0; m < 3; m++)
      if (m != k && count[m] > 1 && (step[m] < step[k] || (step[m] <= step[k] && m < k)))
        within += (count[m] - 1) * step[m];
    if (count[k] > 1 && step[k] < within) found = 1;
  }
  CHECK(found || !rows_meet(s, batch, heads, len, channels), "rows meet that don't interleave");
  return found;
}

static int in_reach(ptrdiff_t start, size_t len) {
  const wide most = (wide)(PTRDIFF_MAX / 4);
  return (wide)start >= -most && (wide)start <= most && (wide)len <= most &&
         (!len || (wide)start + (wide)len - 1 <= most);
}

/* ---- Calls: what they may do, and what they did ---- */

static void remember(void) { memcpy(&before, &arena, sizeof arena); }

static void unchanged(const char *what) {
  CHECK(memcmp(&before, &arena, sizeof arena) == 0, "%s: memory was written after an error", what);
}
/* ... but for the outputs. */
static void only_outputs(const char *what) {
  size_t n;
  for (n = 0; n < range_count; n++)
    if (ranges[n].output) {
      const size_t at = (size_t)((const unsigned char *)ranges[n].p - arena.bytes);
      memcpy(before.bytes + at, arena.bytes + at, ranges[n].bytes);
    }
  CHECK(memcmp(&before, &arena, sizeof arena) == 0, "%s: other memory than the outputs was written", what);
}

/* After a call, which must have given what the opinion says; `unsure`: it may be refused all the same. */
static void judge(mha_status got, int unsure, const char *what) {
  CHECK(got >= MHA_ERR_ALIGN && got <= MHA_WARN_SUM, "%s: status %d", what, (int)got);
  if (got < 0) {
    CHECK(opinion == REFUSED || unsure, "%s: %s, but nothing is wrong", what, mha_strerror(got));
    unchanged(what);
  } else {
    CHECK(opinion != REFUSED, "%s: not refused", what);
    only_outputs(what);
  }
  memcpy(&arena, &before, sizeof arena);
}

/* JUDGED(unsure, call): the call, unless the arena is too small for it */
#define JUDGED(unsure, ...)                            \
  do {                                                 \
    if (opinion == REFUSED || apart_or_refused()) {    \
      remember();                                      \
      judge(__VA_ARGS__, unsure, #__VA_ARGS__);        \
    }                                                  \
  } while (0)

/* Adds the rule on overlaps to the opinion; 0: don't call. */
static int apart_or_refused(void) {
  if (opinion != REFUSED && !apart()) say(REFUSED);
  return opinion != OUTSIDE;
}

/* ---- Level 2 ---- */

/* What mha_desc may get wrong. */
static void spoil(mha_desc *d) {
  size_t      *sizes[10];
  mha_strides *strides[8];
  const void  *from[] = { d->o, d->q, d->k, d->v, d->weights, d->lse, d->mask, d->bias };
  void        *p = rng_chance(30) ? (void *)(uintptr_t)from[rng_below(8)] : any_pointer();
  ptrdiff_t   *stride;
  sizes[0] = &d->batch, sizes[1] = &d->q_heads, sizes[2] = &d->q_len, sizes[3] = &d->kv_len;
  sizes[4] = &d->d_k, sizes[5] = &d->kv_heads, sizes[6] = &d->d_v, sizes[7] = &d->window_left;
  sizes[8] = &d->window_right, sizes[9] = &d->keep_first;
  strides[0] = &d->o_stride, strides[1] = &d->q_stride, strides[2] = &d->k_stride, strides[3] = &d->v_stride;
  strides[4] = &d->k_scale_stride, strides[5] = &d->v_scale_stride;
  strides[6] = &d->mask_stride, strides[7] = &d->bias_stride;
  switch (rng_below(32)) {
    case 0: d->o = (float *)p; break;
    case 1: d->q = (const float *)p; break;
    case 2: d->k = p; break;
    case 3: d->v = p; break;
    case 4: d->k_scale = (const float *)p; break;
    case 5: d->v_scale = (const float *)p; break;
    case 6: d->q_starts = (const ptrdiff_t *)p; break;
    case 7: d->kv_starts = (const ptrdiff_t *)p; break;
    case 8: d->kv_lens = (const size_t *)p; break;
    case 9: d->mask = (const unsigned char *)p; break;
    case 10: d->bias = (const float *)p; break;
    case 11: d->alibi_slopes = (const float *)p; break;
    case 12: d->sinks = (const float *)p; break;
    case 13: d->weights = (float *)p; break;
    case 14: d->lse = (float *)p; break;
    case 15: d->k_type = any_int(3); break;
    case 16: d->v_type = any_int(3); break;
    case 17: d->flags = any_flag_bits(); break;
    case 18: d->scale = any_float(); break;
    case 19: d->softcap = any_float(); break;
    case 20: d->q_start = any_signed(); break;
    case 21: d->kv_start = any_signed(); break;
    case 22: d->q = d->o; break;
    default:
      if (rng_chance(50)) *sizes[rng_below(10)] = any_size();
      else {
        stride = &strides[rng_below(8)]->batch;
        stride[rng_below(3)] = any_signed();
      }
  }
}

/* Sound, small, with any of the options. */
static mha_desc sound_desc(void) {
  mha_desc d;
  size_t   b, rows, keys;
  memset(&d, 0, sizeof d);
  d.batch = rng_between(0, 2), d.q_heads = rng_between(1, 4), d.kv_heads = rng_chance(50) ? 0 : 1;
  d.q_len = rng_below(4), d.kv_len = rng_below(5), d.d_k = rng_between(1, 5);
  d.d_v = rng_chance(50) ? 0 : rng_between(1, 5);
  rows = 2 * d.q_heads * d.q_len, keys = 2 * d.q_heads * d.kv_len;
  d.o = (float *)room(rows * 5 * 4 + 64), d.q = (const float *)room(rows * 5 * 4 + 64);
  d.k = room(keys * 5 * 4 + 64), d.v = room(keys * 5 * 4 + 64);
  if (rng_chance(30)) d.k_type = MHA_S8, d.k_scale = (const float *)room(keys * 4);
  if (rng_chance(30)) d.v_type = MHA_S8, d.v_scale = (const float *)room(keys * 4);
  if (rng_chance(30)) d.k_type = d.k_scale ? MHA_S8 : MHA_F16;
  if (rng_chance(40)) d.flags |= MHA_CAUSAL;
  if (rng_chance(30)) d.flags |= MHA_USE_WINDOW, d.window_left = any_size(), d.keep_first = any_size();
  if (rng_chance(30)) {
    size_t *lens = (size_t *)room(2 * sizeof *lens);
    for (b = 0; b < 2; b++) lens[b] = rng_chance(90) ? rng_below(d.kv_len + 1) : any_size();
    d.kv_lens = lens;
  }
  if (rng_chance(30)) {
    ptrdiff_t *starts = (ptrdiff_t *)room(2 * sizeof *starts);
    for (b = 0; b < 2; b++) starts[b] = rng_chance(80) ? (ptrdiff_t)rng_below(9) : any_signed();
    if (rng_chance(50)) d.q_starts = starts;
    else d.kv_starts = starts;
  } else if (rng_chance(40)) d.flags |= MHA_Q_LAST;
  if (rng_chance(30)) d.mask = (const unsigned char *)room(rows * d.kv_len);
  if (rng_chance(30)) d.bias = (const float *)room(rows * d.kv_len * 4);
  if (rng_chance(30)) d.alibi_slopes = (const float *)room(16);
  if (rng_chance(30)) d.sinks = (const float *)room(16);
  if (rng_chance(30)) d.weights = (float *)room(rows * d.kv_len * 4);
  if (rng_chance(30)) d.lse = (float *)room(rows * 4);
  return d;
}

/* Sizes, flags, types and options. */
static void opinion_on_options(const mha_desc *d) {
  const size_t kv_heads = d->kv_heads ? d->kv_heads : d->q_heads;
  const int    windows = d->window_left || d->window_right || d->keep_first;
  float        factor;
  if (!d->q_heads || !d->d_k || d->q_heads % kv_heads || d->d_k > PTRDIFF_MAX / 4) {
    say(REFUSED);
    return;
  }
  if (d->flags > 15 || d->k_type < 0 || d->k_type > 3 || d->v_type < 0 || d->v_type > 3) say(REFUSED);
  if (windows && !(d->flags & (unsigned)MHA_USE_WINDOW)) say(REFUSED);
  if ((d->k_scale && d->k_type != MHA_S8) || (d->v_scale && d->v_type != MHA_S8)) say(REFUSED);
  if ((d->q_start && (d->q_starts || d->flags & (unsigned)MHA_Q_LAST)) || (d->kv_start && d->kv_starts))
    say(REFUSED);
  if (d->q_starts && d->flags & (unsigned)MHA_Q_LAST) say(REFUSED);
  if (!(d->softcap >= 0.0f && d->softcap <= FLT_MAX)) say(REFUSED);
  if (!(d->scale >= -FLT_MAX && d->scale <= FLT_MAX)) say(REFUSED);
  factor = d->softcap * 1.44269502f;
  if (!(factor <= FLT_MAX)) say(REFUSED);
  factor = d->scale;
  if (factor == 0.0f && !(d->flags & (unsigned)MHA_USE_SCALE)) factor = (float)(1.0 / sqrt((double)d->d_k));
  if (d->softcap > 0.0f) factor = factor / d->softcap, factor = factor * 2.88539004f;
  else factor = factor * 1.44269502f;
  if (!(factor >= -FLT_MAX && factor <= FLT_MAX)) say(REFUSED);
}

/* Lengths and positions.  Returns the longest. */
static size_t opinion_on_places(const mha_desc *d) {
  const int each = d->q_starts || d->kv_starts || d->kv_lens;
  size_t    b, longest = d->kv_lens ? 0 : d->kv_len;
  if (d->q_starts) has_array(d->q_starts, (wide)d->batch, sizeof(ptrdiff_t), sizeof(ptrdiff_t), 0);
  if (d->kv_starts) has_array(d->kv_starts, (wide)d->batch, sizeof(ptrdiff_t), sizeof(ptrdiff_t), 0);
  if (d->kv_lens) has_array(d->kv_lens, (wide)d->batch, sizeof(size_t), sizeof(size_t), 0);
  if (opinion != SOUND) return longest;
  for (b = 0; b < (each ? d->batch : 1); b++) {
    const size_t    len = d->kv_lens ? d->kv_lens[b] : d->kv_len;
    const ptrdiff_t kv0 = d->kv_starts ? d->kv_starts[b] : d->kv_start;
    ptrdiff_t       q0 = d->q_starts ? d->q_starts[b] : d->q_start;
    if (len > d->kv_len || !in_reach(kv0, d->kv_len) || !in_reach(0, d->q_len)) {
      say(REFUSED);
      return longest;
    }
    if (d->flags & (unsigned)MHA_Q_LAST) q0 = kv0 + (ptrdiff_t)len - (ptrdiff_t)d->q_len;
    if (!in_reach(q0, d->q_len)) say(REFUSED);
    if (len > longest) longest = len;
  }
  return longest;
}

/* A tensor of required strides or, `room` > 0, of ones that may be packed.  An optional one may be NULL. */
static void opinion_on_tensor(const void *p, int required, mha_strides s, size_t room, size_t batch,
                              size_t heads, size_t len, size_t channels, size_t bytes, int output) {
  const int empty = !batch || !heads || !len || !channels;
  wide      n;
  if (!p && (empty || !required)) return;
  n = room ? extent_or_packed(s, batch, heads, len, channels, room) : extent(s, batch, heads, len, channels);
  has_array(p, n, bytes, bytes, output);
}

/* Sets *work to about how many multiply-adds the call takes. */
static void opinion_on_desc(const mha_desc *d, wide *work, int *in_place) {
  static const size_t bytes[] = { 4, 2, 2, 1 };
  const int           k_s8 = d->k_type == MHA_S8, v_s8 = d->v_type == MHA_S8;
  const mha_strides   none = { 0, 0, 0 };
  size_t              kv_heads, d_v, longest;
  wide                rows;
  start_over();
  *work = 0, *in_place = 0;
  opinion_on_options(d);
  if (opinion != SOUND) return;
  longest = opinion_on_places(d);
  if (opinion != SOUND) return;
  kv_heads = d->kv_heads ? d->kv_heads : d->q_heads;
  d_v = d->d_v ? d->d_v : d->d_k;
  opinion_on_tensor(d->o, 1, d->o_stride, d->q_len, d->batch, d->q_heads, d->q_len, d_v, 4, 1);
  opinion_on_tensor(d->q, 1, d->q_stride, d->q_len, d->batch, d->q_heads, d->q_len, d->d_k, 4, 0);
  if (d->o == d->q && d_v == d->d_k && range_count > 1 && opinion == SOUND) {
    const mha_strides o = d->o_stride, q = d->q_stride, p = { (ptrdiff_t)(d->q_len * d->q_heads * d_v),
                                                              (ptrdiff_t)d_v, (ptrdiff_t)(d->q_heads * d_v) };
    const mha_strides a = o.batch || o.head || o.row ? o : p, b = q.batch || q.head || q.row ? q : p;
    *in_place = a.batch == b.batch && a.head == b.head && a.row == b.row;
    ranges[range_count - 1].may_be = ranges[range_count - 2].may_be = *in_place;
  }
  opinion_on_tensor(d->k, 1, d->k_stride, d->kv_len, d->batch, kv_heads, longest, d->d_k,
                    bytes[d->k_type], 0);
  opinion_on_tensor(d->v, 1, d->v_stride, d->kv_len, d->batch, kv_heads, longest, d_v, bytes[d->v_type], 0);
  opinion_on_tensor(d->k_scale, k_s8, d->k_scale_stride, 0, d->batch, kv_heads, longest, 1, 4, 0);
  opinion_on_tensor(d->v_scale, v_s8, d->v_scale_stride, 0, d->batch, kv_heads, longest, 1, 4, 0);
  opinion_on_tensor(d->mask, 0, d->mask_stride, 0, d->batch, d->q_heads, d->q_len, longest, 1, 0);
  opinion_on_tensor(d->bias, 0, d->bias_stride, 0, d->batch, d->q_heads, d->q_len, longest, 4, 0);
  if (d->alibi_slopes) has_array(d->alibi_slopes, (wide)d->q_heads, 4, 4, 0);
  if (d->sinks) has_array(d->sinks, (wide)d->q_heads, 4, 4, 0);
  opinion_on_tensor(d->weights, 0, none, d->q_len, d->batch, d->q_heads, d->q_len, d->kv_len, 4, 1);
  opinion_on_tensor(d->lse, 0, none, d->q_len, d->batch, d->q_heads, d->q_len, 1, 4, 1);
  rows = (wide)d->batch * (wide)d->q_heads * (wide)d->q_len;
  if (rows > 0 && (2 * (wide)d->kv_len + 16) * rows > (wide)UINT64_MAX) say(REFUSED);
  if (opinion == SOUND && rows > 0 && interleaved(d->o_stride, d->batch, d->q_heads, d->q_len, d_v))
    say(REFUSED);
  *work = rows * (wide)longest * (wide)(d->d_k + d_v + 16) + rows * (wide)d->d_k;
  *work += (wide)d->batch * (wide)d->q_heads;
}

static void attend(void) {
  mha_desc d = sound_desc();
  size_t   n, part, parts, bytes;
  void    *memory = any_pointer();
  wide     work;
  int      in_place;
  verdict  on_desc;
  for (n = rng_below(4); n; n--) spoil(&d);
  opinion_on_desc(&d, &work, &in_place);
  if (opinion == SOUND && work > (wide)MOST_WORK) return;
  if (opinion == OUTSIDE) return;
  JUDGED(0, mha_check(&d));
  if (opinion == REFUSED) {
    CHECK(mha_work_bytes(&d) == 0, "a workspace for what is refused");
    CHECK(mha_keys_bytes(&d) == 0, "shared memory for what is refused");
  }
  JUDGED(in_place && d.d_k > 512, mha_attend(&d, NULL, 0));
  on_desc = opinion, n = range_count;

  part = rng_chance(80) ? rng_below(3) : any_size();
  parts = rng_chance(80) ? rng_below(4) : any_size();
  bytes = rng_chance(50) ? rng_below(3000) : any_size();
  if (part >= parts) say(REFUSED);
  if ((!memory && bytes) || bytes > PTRDIFF_MAX || (wide)(uintptr_t)memory + (wide)bytes > (wide)UINTPTR_MAX)
    say(REFUSED);
  else has_array(memory, (wide)bytes, 1, 1, 1);
  JUDGED(in_place && d.d_k > 512, mha_attend_part(&d, part, parts, memory, bytes));

  opinion = on_desc, range_count = n;
  if (d.weights) say(REFUSED);
  if (opinion == SOUND) {
    const size_t need = mha_keys_bytes(&d);
    if (bytes < need || (!memory && bytes)) say(REFUSED);
    else has_array(memory, (wide)need, 1, 1, 1);
  }
  JUDGED(0, mha_attend_join(&d, memory, bytes)); /* of garbage */
  if (part >= parts) say(REFUSED);
  JUDGED(0, mha_attend_keys(&d, part, parts, memory, bytes));
}

/* ---- Level 1 and the helpers ---- */

static size_t some_size(void) { return rng_chance(70) ? rng_below(9) : any_size(); }
static void  *some_pointer(void) { return rng_chance(60) ? room(2048) : any_pointer(); }

static void level_1(void) {
  float       *out = (float *)some_pointer();
  const float *q = rng_chance(15) ? out : (const float *)some_pointer();
  const float *k = (const float *)some_pointer(), *v = (const float *)some_pointer();
  const size_t len = some_size(), heads = some_size(), d_k = some_size();
  const wide   n = (wide)len * (wide)heads * (wide)d_k;
  int          whole = rng_chance(50);
  size_t       d_model = whole ? d_k : heads * d_k;
  start_over();
  if (!heads || !d_k) say(REFUSED);
  else if (len) has_array(out, n, 4, 4, 1), has_array(q, n, 4, 4, 0);
  JUDGED(0, mha_split_heads(out, q, len, heads, d_k));
  JUDGED(0, mha_merge_heads(out, q, len, heads, d_k));
  start_over();
  if (!heads || !d_k) say(REFUSED);
  else if (len) {
    has_array(out, n, 4, 4, 1), has_array(q, n, 4, 4, 0);
    if (q == out && range_count == 2) ranges[0].may_be = ranges[1].may_be = 1;
    has_array(k, n, 4, 4, 0), has_array(v, n, 4, 4, 0);
  }
  if (n * (wide)len > (wide)MOST_WORK && opinion == SOUND) return;
  JUDGED(q == out && d_k > 512, mha_sdpa(out, q, k, v, len, heads, d_k));
  if (!whole) { /* the same, by d_model, if that did not wrap */
    if (heads && d_k > SIZE_MAX / heads) return;
    JUDGED(q == out && d_k > 512, mha_multi_head_attention(out, q, k, v, len, d_model, heads));
  } else if (heads && d_model % heads) {
    start_over();
    say(REFUSED);
    JUDGED(0, mha_multi_head_attention(out, q, k, v, len, d_model, heads));
  }
}

static int all_finite(const float *x, size_t n) {
  size_t k;
  for (k = 0; k < n; k++)
    if (!(x[k] >= -FLT_MAX && x[k] <= FLT_MAX)) return 0;
  return 1;
}

static void helpers(void) {
  void        *out = some_pointer(), *in = some_pointer(), *scales = some_pointer();
  const size_t n = some_size(), cols = some_size();
  const wide   all = (wide)n * (wide)cols;
  start_over();
  has_array(out, (wide)n, 2, 2, 1), has_array(in, (wide)n, 4, 4, 0);
  JUDGED(0, mha_f16_from_f32((uint16_t *)out, (const float *)in, n));
  JUDGED(0, mha_bf16_from_f32((uint16_t *)out, (const float *)in, n));
  start_over();
  has_array(out, (wide)n, 4, 4, 1), has_array(in, (wide)n, 2, 2, 0);
  JUDGED(0, mha_f32_from_f16((float *)out, (const uint16_t *)in, n));
  JUDGED(0, mha_f32_from_bf16((float *)out, (const uint16_t *)in, n));
  start_over();
  if (!n) say(REFUSED);
  has_array(out, (wide)n, 4, 4, 1);
  JUDGED(0, mha_alibi_slopes((float *)out, n));
  start_over();
  has_array(out, all, 1, 1, 1), has_array(in, all, 4, 4, 0), has_array(scales, (wide)n, 4, 4, 1);
  if (opinion == SOUND && !all_finite((const float *)in, all > 0 ? n * cols : 0)) say(REFUSED);
  JUDGED(0, mha_s8_from_f32((signed char *)out, (float *)scales, (const float *)in, n, cols));
  CHECK(mha_strerror((mha_status)(rng_chance(80) ? (int)rng_below(20) - 16 : any_int(20))) != NULL, "no text");
  CHECK(mha_desc_bytes() == sizeof(mha_desc) && mha_isa() && mha_numerics(), "no name");
}

/* ---- Integer attention ---- */

static mha_s8_affine some_affine(void) {
  mha_s8_affine a;
  a.scale = rng_chance(80) ? rng_float(0.01f, 0.1f) : any_float();
  a.zero = rng_chance(90) ? (int)rng_below(256) - 128 : any_int(300);
  return a;
}

/* Consts, a table and a quant of any numbers; returns whether they became constants. */
static int prepare(mha_s8_consts *consts, int32_t *table, int mode) {
  mha_s8_quant a;
  int32_t     *to = rng_chance(95) ? (mode == MHA_S8_TFLM ? table : NULL) : (int32_t *)any_pointer();
  mha_status   status;
  memset(&a, 0, sizeof a);
  a.mode = rng_chance(95) ? mode : any_int(4);
  a.d_k = rng_chance(80) ? 8 : any_size(), a.kv_len = rng_chance(80) ? 8 : any_size();
  a.q = some_affine(), a.k = some_affine(), a.v = some_affine(), a.o = some_affine();
  if (mode == MHA_S8_TFLM || rng_chance(3)) a.logits = some_affine();
  if (rng_chance(20)) a.scale = any_float();
  if (rng_chance(10)) a.map_scale = any_float();
  if (rng_chance(10)) a.logit_map = (const signed char *)room(256);
  start_over();
  if (to && to != table) has_table(to);
  if (opinion == OUTSIDE) return 0;
  remember();
  status = mha_s8_prepare(consts, to, &a);
  if (status != MHA_OK) unchanged("mha_s8_prepare");
  else if (to && to != table) return 0; /* in the midst of the arena */
  return status == MHA_OK;
}

static void spoil_s8(mha_s8_desc *d) {
  size_t         *sizes[9];
  mha_s8_strides *strides[5];
  ptrdiff_t      *stride;
  void           *p = any_pointer();
  sizes[0] = &d->q_heads, sizes[1] = &d->q_len, sizes[2] = &d->kv_len, sizes[3] = &d->d_k;
  sizes[4] = &d->kv_heads, sizes[5] = &d->d_v, sizes[6] = &d->window_left;
  sizes[7] = &d->window_right, sizes[8] = &d->consts_stride;
  strides[0] = &d->o_stride, strides[1] = &d->q_stride, strides[2] = &d->k_stride, strides[3] = &d->v_stride;
  strides[4] = &d->mask_stride;
  switch (rng_below(20)) {
    case 0: d->o = (signed char *)p; break;
    case 1: d->q = (const signed char *)p; break;
    case 2: d->k = (const signed char *)p; break;
    case 3: d->v = (const signed char *)p; break;
    case 4: d->mask = (const unsigned char *)p; break;
    case 5: d->flags = any_flag_bits(); break;
    case 6: d->q_start = any_signed(); break;
    case 7: d->consts = NULL; break;
    case 8: d->o = (signed char *)(uintptr_t)d->q; break;
    default:
      if (rng_chance(50)) *sizes[rng_below(9)] = any_size();
      else {
        stride = &strides[rng_below(5)]->head;
        stride[rng_below(2)] = any_signed();
      }
  }
}

/* A tensor of integer attention, whose strides count only where it has elements. */
static void opinion_on_s8(const void *p, mha_s8_strides s, int packs, size_t heads, size_t len,
                          size_t channels, int output) {
  mha_strides t;
  wide        n;
  if (!heads || !len || !channels) return;
  t.batch = 0, t.head = s.head, t.row = s.row;
  n = packs ? extent_or_packed(t, 1, heads, len, channels, len) : extent(t, 1, heads, len, channels);
  has_array(p, n, 1, 1, output);
}

static void opinion_on_s8_desc(const mha_s8_desc *d, const mha_s8_consts *consts) {
  const size_t kv_heads = d->kv_heads ? d->kv_heads : d->q_heads, d_v = d->d_v ? d->d_v : d->d_k;
  const int    windows = d->window_left || d->window_right;
  mha_strides  o;
  start_over();
  if (!d->consts || !d->q_heads || !d->d_k || d->q_heads % kv_heads || d->consts_stride > 1 ||
      (d->flags & ~7u) || (windows && !(d->flags & (unsigned)MHA_USE_WINDOW)) ||
      (d->q_start && d->flags & (unsigned)MHA_Q_LAST) || !in_reach(d->q_start, d->q_len) ||
      !in_reach(0, d->kv_len) || d->d_k > consts->max_d_k || d->kv_len > consts->max_kv_len) {
    say(REFUSED);
    return;
  }
  if (d->consts_stride && d->q_heads > 8) {
    say(OUTSIDE);
    return;
  }
  opinion_on_s8(d->o, d->o_stride, 1, d->q_heads, d->q_len, d_v, 1);
  opinion_on_s8(d->q, d->q_stride, 1, d->q_heads, d->q_len, d->d_k, 0);
  opinion_on_s8(d->k, d->k_stride, 1, kv_heads, d->kv_len, d->d_k, 0);
  opinion_on_s8(d->v, d->v_stride, 1, kv_heads, d->kv_len, d_v, 0);
  if (d->mask) opinion_on_s8(d->mask, d->mask_stride, 0, d->q_heads, d->q_len, d->kv_len, 0);
  o.batch = 0, o.head = d->o_stride.head, o.row = d->o_stride.row;
  if (opinion == SOUND && d->q_len && interleaved(o, 1, d->q_heads, d->q_len, d_v)) say(REFUSED);
}

static void integers(void) {
  static mha_s8_consts consts[8];
  static int32_t       table[256];
  const int            mode = rng_chance(50) ? MHA_S8_TFLM : MHA_S8_NATIVE, tflm = mode == MHA_S8_TFLM;
  mha_s8_desc          d;
  wide                 work;
  size_t               n, first = rng_chance(70) ? rng_below(9) : any_size(), bytes;
  size_t               rows = rng_chance(70) ? rng_below(9) : any_size();
  void                *scratch = any_pointer();
  memset(&d, 0, sizeof d);
  if (!prepare(consts, table, mode)) return;
  if (rng_chance(5)) consts->mode = (int16_t)any_int(3);
  for (n = 1; n < 8; n++) consts[n] = consts[0];
  d.q_heads = rng_between(1, 4), d.kv_heads = rng_below(2), d.q_len = rng_below(5), d.kv_len = rng_below(9);
  d.d_k = rng_between(1, 8), d.d_v = rng_below(9), d.consts = consts, d.consts_stride = rng_below(2);
  d.o = (signed char *)room(512), d.q = (const signed char *)room(512);
  d.k = (const signed char *)room(512), d.v = (const signed char *)room(512);
  if (rng_chance(40)) d.mask = (const unsigned char *)room(256), d.mask_stride.row = 8;
  if (rng_chance(40)) d.flags |= MHA_CAUSAL;
  for (n = rng_below(4); n; n--) spoil_s8(&d);
  opinion_on_s8_desc(&d, consts);
  if (opinion == OUTSIDE) return;
  work = (wide)d.q_heads * (wide)d.q_len * (wide)d.kv_len * (wide)(d.d_k + d.d_v);
  if (opinion == SOUND && work > (wide)MOST_WORK) return;
  if (opinion == SOUND && consts->mode != MHA_S8_TFLM && consts->mode != MHA_S8_NATIVE) say(REFUSED);
  if (opinion == SOUND && consts->mode == MHA_S8_TFLM && !consts->exp_table) say(REFUSED);
  JUDGED(0, mha_s8_check(&d));
  if (opinion == SOUND && consts->mode != mode) say(REFUSED);
  JUDGED(0, tflm ? mha_s8_tflm_lean(&d, first, rows) : mha_s8_native_lean(&d, first, rows));
  n = mha_s8_scratch_bytes(mode, d.kv_len, d.d_k);
  bytes = rng_chance(60) ? n + rng_below(9) : rng_chance(50) ? rng_below(n) : any_size();
  if (!scratch || bytes < n) say(REFUSED);
  else if (bytes > PTRDIFF_MAX || (wide)(uintptr_t)scratch + (wide)bytes > (wide)UINTPTR_MAX) return;
  else has_array(scratch, (wide)bytes, 1, 1, 1);
  if (tflm) JUDGED(0, mha_s8_tflm(&d, first, rows, scratch, bytes));
  else JUDGED(0, mha_s8_native(&d, first, rows, scratch, bytes));
}

static void integer_helpers(void) {
  int32_t      *table = (int32_t *)some_pointer(), multiplier = (int32_t)rng();
  signed char  *out = (signed char *)some_pointer();
  const float  *in = (const float *)some_pointer();
  const int     shift = any_int(40);
  const size_t  n = some_size();
  mha_s8_affine a = some_affine();
  if (rng_chance(60)) multiplier = (multiplier & 0x3fffffff) | 0x40000000;
  start_over();
  if (multiplier < 1 << 30 || shift < 0 || shift > 31) say(REFUSED);
  has_table(table);
  JUDGED(0, mha_s8_exp_table(table, multiplier, shift));
  start_over();
  if (!(a.scale > 0.0f && a.scale <= FLT_MAX) || a.zero < -128 || a.zero > 127) say(REFUSED);
  has_array(out, (wide)n, 1, 1, 1), has_array(in, (wide)n, 4, 4, 0);
  if (opinion == SOUND && !all_finite(in, n)) say(REFUSED);
  JUDGED(0, mha_s8_quantize(out, in, n, a));
  CHECK(mha_s8_scratch_bytes(any_int(3), any_size(), any_size()) > 0, "no scratch");
}

static void calibrate(void) {
  mha_desc     d = sound_desc();
  mha_s8_quant quant, old;
  size_t       n, head = rng_chance(50) ? MHA_ALL : some_size();
  wide         work;
  int          in_place;
  mha_status   status;
  d.weights = NULL;
  for (n = rng_below(3); n; n--) spoil(&d);
  memset(&quant, 0x5a, sizeof quant);
  quant.mode = rng_chance(90) ? (int)rng_between(1, 2) : any_int(5);
  old = quant;
  opinion_on_desc(&d, &work, &in_place);
  if (opinion == OUTSIDE || (opinion == SOUND && (work > (wide)MOST_WORK || !apart_or_refused()))) return;
  remember();
  status = mha_s8_calibrate(&quant, &d, head);
  CHECK(opinion != REFUSED || status < 0, "mha_s8_calibrate: not refused");
  if (status < 0) {
    if (status == MHA_ERR_VALUE && opinion != REFUSED) only_outputs("mha_s8_calibrate"); /* o not finite */
    else unchanged("mha_s8_calibrate");
    CHECK(memcmp(&quant, &old, sizeof old) == 0, "mha_s8_calibrate: quant was written after an error");
  } else only_outputs("mha_s8_calibrate");
}

static void nothing(void) {
  CHECK(mha_check(NULL) < 0 && mha_attend(NULL, NULL, 0) < 0, "NULL");
  CHECK(mha_attend_part(NULL, 0, 1, NULL, 0) < 0, "NULL");
  CHECK(mha_attend_keys(NULL, 0, 1, NULL, 0) < 0 && mha_attend_join(NULL, NULL, 0) < 0, "NULL");
  CHECK(!mha_work_bytes(NULL) && !mha_keys_bytes(NULL), "NULL");
  CHECK(mha_s8_check(NULL) < 0 && mha_s8_tflm(NULL, 0, 1, NULL, 0) < 0, "NULL");
  CHECK(mha_s8_native(NULL, 0, 1, NULL, 0) < 0 && mha_s8_native_lean(NULL, 0, 1) < 0, "NULL");
  CHECK(mha_s8_tflm_lean(NULL, 0, 1) < 0, "NULL");
  CHECK(mha_s8_prepare(NULL, NULL, NULL) < 0 && mha_s8_calibrate(NULL, NULL, 0) < 0, "NULL");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static void (*const what[])(void) = { attend, attend, attend, attend, attend, level_1, level_1, helpers,
                                        integers, integers, integer_helpers, calibrate, nothing };
  size_t n, isa;
  rng_start(1, data, size);
  arena_used = 0;
  isa = rng_below(FUZZ_ISAS);
  while (!fuzz_isa(isa)) isa = (isa + 1) % FUZZ_ISAS;
  for (n = 0; n < ARENA / 4; n++) ((float *)(void *)arena.bytes)[n] = (float)(n % 97) / 16.0f - 3.0f;
  for (n = rng_below(4); n; n--) ((float *)(void *)arena.bytes)[rng_below(ARENA / 4)] = any_float();
  what[rng_below(sizeof what / sizeof what[0])]();
  return 0;
}
