// test/engine.test.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateSync } from "node:zlib";

// src/data/blocks.ts
async function inflate(base64) {
  const bytes = fromBase64(base64);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
function fromBase64(text) {
  const native = Uint8Array.fromBase64;
  if (native) return native.call(Uint8Array, text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}
function decodeStrings(bytes) {
  const strings = new TextDecoder().decode(bytes).split("\0");
  strings.pop();
  return strings;
}
function openTable(bytes) {
  let at = 0;
  const varint2 = () => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[at++];
      if (byte === void 0) throw new Error("a table is cut short");
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  };
  const columns = varint2(), rows2 = varint2();
  const widths = Array.from(bytes.subarray(at, at + columns));
  let offset = at + columns;
  const offsets = widths.map((width) => {
    const begin = offset;
    offset += width * rows2;
    return begin;
  });
  if (offset !== bytes.length) throw new Error("a table is of another length");
  return { rows: rows2, bytes, offsets, widths };
}
function readColumn(table2, column2, to, first = 0, row = 0, count = table2.rows - row) {
  const width = table2.widths[column2], { bytes, rows: rows2 } = table2, a = table2.offsets[column2] + row;
  const b = a + rows2, c = b + rows2, d = c + rows2;
  if (width === 0) to.fill(0, first, first + count);
  else if (width === 1) for (let i = 0; i < count; i++) to[first + i] = bytes[a + i];
  else if (width === 2) for (let i = 0; i < count; i++) to[first + i] = bytes[a + i] | bytes[b + i] << 8;
  else if (width === 3) for (let i = 0; i < count; i++) to[first + i] = bytes[a + i] | bytes[b + i] << 8 | bytes[c + i] << 16;
  else
    for (let i = 0; i < count; i++) {
      let value = (bytes[a + i] | bytes[b + i] << 8 | bytes[c + i] << 16 | bytes[d + i] << 24) >>> 0;
      for (let plane = 4, scale = 2 ** 32; plane < width; plane++, scale *= 256) value += bytes[a + plane * rows2 + i] * scale;
      to[first + i] = value;
    }
}
function unzigzag(numbers) {
  for (let i = 0; i < numbers.length; i++) {
    const coded = numbers[i];
    numbers[i] = coded % 2 ? -(coded + 1) / 2 : coded / 2;
  }
  return numbers;
}
function column(table2, number, signed = false) {
  const numbers = new Float64Array(table2.rows);
  readColumn(table2, number, numbers);
  return signed ? unzigzag(numbers) : numbers;
}

// src/data/index.ts
var isOther = (thread) => thread.recorded && thread.waker_only;
var threadName = (thread) => thread.names.at(-1)?.[1] || "thread";
var threadLabel = (thread) => `${threadName(thread)}/${thread.tid}`;

// src/engine/recording.ts
var CLASS_SCHED = 3;
var CHANNELS = 6;
var CHANNEL_IDLE = 5;
var STRIDE = 16;
var roundUp = (value) => Math.floor(value + 0.5);
function timeOf(info, thread, cls, points) {
  return roundUp(points * info.period_ns * info.threads[thread].factor[cls]);
}
function kindsOf(info) {
  const kinds = info.waits.map((wait) => ({
    name: wait.kind || "blocked",
    class: wait.class,
    channel: wait.idle === "no" ? wait.class : CHANNEL_IDLE
  }));
  return [
    ...kinds,
    { name: "running", class: 0, channel: 0 },
    { name: "run queue", class: 3, channel: 3 },
    { name: "preempted", class: 3, channel: 3 }
  ];
}
function addParts(r, i, to, at) {
  const channel = r.kinds[r.wait[i]].channel;
  to[at + channel] += r.wake[i] - r.out[i];
  to[at + CLASS_SCHED] += r.in[i] - r.wake[i];
}
function sumsBefore(r, i, to) {
  const block = Math.floor(i / STRIDE);
  for (let c = 0; c < CHANNELS; c++) to[c] = r.sums[block * CHANNELS + c];
  for (let k = block * STRIDE; k < i; k++) addParts(r, k, to, 0);
}
function upperBound(values, low, high, value) {
  while (low < high) {
    const middle = low + high >>> 1;
    if (values[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

// src/engine/selection.ts
function threadsOf(r, range) {
  const all = range.threads ?? r.info.threads.flatMap((thread, number) => number && thread.recorded && (range.others || !isOther(thread)) ? [number] : []);
  return all.filter((number) => number > 0 && number < r.info.threads.length);
}
function isShown(kind, range) {
  return (range.classes >> kind.class & 1) === 1 && (kind.channel !== CHANNEL_IDLE || range.idle);
}
function clippedPart(r, thread, cls, begin, end, points, from, until) {
  const low = Math.max(begin, from), high = Math.min(end, until), length = end - begin;
  if (low > high || low === high && (length > 0 || begin === until)) return 0;
  if (!r.blockedWeight) return high - low;
  const before = (x) => length ? Math.floor(points * x / length) : 0;
  const share = length ? before(high - begin) - before(low - begin) : points;
  return timeOf(r.info, thread, cls, share);
}
function addThread(r, thread, range, shown, to, low = range.from, high = range.until, sign = 1) {
  const { from, until } = range, queued = (range.classes >> CLASS_SCHED & 1) === 1;
  const end = r.first[thread + 1], begin = upperBound(r.in, r.first[thread], end, low - 1);
  for (let i = begin; i < end && r.out[i] < high; i++) {
    const whole = r.out[i] >= from && r.in[i] < until;
    if (shown[r.wait[i]])
      to[r.blockedCombo[i]] += sign * (whole ? r.blockedWeight ? r.blockedWeight[i] : r.wake[i] - r.out[i] : clippedPart(r, thread, r.kinds[r.wait[i]].class, r.out[i], r.wake[i], r.blockedPoints?.[i] ?? 0, from, until));
    if (queued)
      to[r.runqCombo[i]] += sign * (whole ? r.runqWeight ? r.runqWeight[i] : r.in[i] - r.wake[i] : clippedPart(r, thread, CLASS_SCHED, r.wake[i], r.in[i], r.runqPoints?.[i] ?? 0, from, until));
  }
  if (!(range.classes & 1)) return;
  const lastSample = r.firstSample[thread + 1], last = Math.min(high, until);
  for (let i = upperBound(r.sampleTime, r.firstSample[thread], lastSample, Math.max(low, from) - 1); i < lastSample && r.sampleTime[i] < last; i++)
    if (r.sampleTime[i] >= from) to[r.sampleCombo[i]] += sign * timeOf(r.info, thread, 0, r.samplePoints[i]);
}
var shownKinds = (r, range) => r.kinds.map((kind) => isShown(kind, range));
function weigh(r, range) {
  const weights = new Float64Array(r.combos.n), shown = shownKinds(r, range);
  for (const thread of threadsOf(r, range)) addThread(r, thread, range, shown, weights);
  return weights;
}
var lastWeighed = /* @__PURE__ */ new WeakMap();
function move(r, last, range) {
  const before = last.range, atEnd = before.from === range.from;
  const [one, other] = atEnd ? [before.until, range.until] : [before.from, range.from], low = Math.min(one, other), high = Math.max(one, other);
  if (low < high)
    for (const thread of last.threads) {
      addThread(r, thread, before, last.shown, last.weights, low, high, -1);
      addThread(r, thread, range, last.shown, last.weights, low, high);
    }
  last.range = range;
}
function weighAgain(r, range) {
  const key = `${range.classes} ${range.idle} ${range.others} ${range.threads?.join() ?? ""}`, last = lastWeighed.get(r), before = last?.range;
  const moved = before ? Math.abs(before.from - range.from) + Math.abs(before.until - range.until) : 0;
  if (!last || !before || last.key !== key || moved * 2 > range.until - range.from || before.from >= range.until || before.until <= range.from) {
    const made = { key, range, threads: threadsOf(r, range), shown: shownKinds(r, range), weights: weigh(r, range) };
    lastWeighed.set(r, made);
    return made.weights;
  }
  move(r, last, { ...range, from: before.from });
  move(r, last, range);
  return last.weights;
}

// src/engine/bins.ts
var Walker = class {
  constructor(r, thread, from) {
    this.r = r;
    this.end = r.first[thread + 1];
    this.at = upperBound(r.in, r.first[thread], this.end, from);
    sumsBefore(r, this.at, this.base);
    this.base.forEach((value, c) => this.sums[c] = value);
  }
  r;
  at;
  end;
  base = new Float64Array(CHANNELS);
  sums = new Float64Array(CHANNELS);
  /** Sets `to` to the lengths between the first time and `time`. */
  until(time, to) {
    const { r } = this;
    if (this.at < this.end && r.in[this.at] <= time) {
      let k = this.at, steps = 0;
      while (k < this.end && r.in[k] <= time && steps++ < 24) addParts(r, k++, this.sums, 0);
      if (k < this.end && r.in[k] <= time) {
        k = upperBound(r.in, k, this.end, time);
        sumsBefore(r, k, this.sums);
      }
      this.at = k;
    }
    to.set(this.sums);
    if (this.at < this.end && r.out[this.at] < time) {
      const i = this.at, channel = r.kinds[r.wait[i]].channel;
      to[channel] += Math.min(time, r.wake[i]) - r.out[i];
      if (time > r.wake[i]) to[CLASS_SCHED] += time - r.wake[i];
    }
  }
};
var SampleWalker = class {
  constructor(r, thread, from) {
    this.r = r;
    this.end = r.firstSample[thread + 1];
    this.at = upperBound(r.sampleTime, r.firstSample[thread], this.end, from);
  }
  r;
  at;
  sum = 0;
  end;
  until(time) {
    const { r } = this, length = (i) => r.samplePoints[i] * r.info.period_ns;
    for (; this.at < this.end && r.sampleTime[this.at] <= time; this.at++) this.sum += length(this.at);
    const next = this.at < this.end ? length(this.at) - (r.sampleTime[this.at] - time) : 0;
    return this.sum + Math.max(0, next);
  }
};
function addBins(r, thread, from, until, width, to, at = 0) {
  const info = r.info.threads[thread], unit = r.info.unit_ns;
  if (!info.recorded) return;
  const created = info.created * unit, ended = info.ended * unit, step = (until - from) / width;
  const walker = new Walker(r, thread, from), samples = r.info.mode === "sampling" ? new SampleWalker(r, thread, from) : null;
  let before = new Float64Array(CHANNELS), now = new Float64Array(CHANNELS), sampled = samples?.until(from) ?? 0;
  walker.until(from, before);
  for (let x = 0; x < width; x++) {
    const begin = from + x * step, end = begin + step;
    walker.until(end, now);
    const life = Math.max(0, Math.min(end, ended) - Math.max(begin, created));
    let waited = 0;
    for (let c = 1; c < CHANNELS; c++) {
      const part = Math.max(0, now[c] - before[c]);
      waited += part;
      to[at + x * CHANNELS + c] += part / step;
    }
    let running = Math.max(0, life - waited);
    if (samples) {
      const until2 = samples.until(end);
      running = Math.min(running, until2 - sampled);
      sampled = until2;
    }
    to[at + x * CHANNELS] += running / step;
    [before, now] = [now, before];
  }
}
function waitText(r, i) {
  const wait = r.info.waits[r.wait[i]], object = r.info.objects[r.object[i]] ?? "";
  if (r.wake[i] === r.out[i]) return wait.preempted ? "preempted" : "run queue";
  return object ? `${wait.kind} ${object}` : wait.kind;
}
function runText(r, thread, from, until) {
  const end = r.firstSample[thread + 1], first = upperBound(r.sampleTime, r.firstSample[thread], end, from);
  const last = upperBound(r.sampleTime, first, end, until);
  if (first >= last) return "";
  const { name, flags } = r.frames, stack = r.combos.stack[r.sampleCombo[first + last - 1 >> 1]];
  let text = "";
  for (let node = r.stackNode[stack]; node; node = r.nodeParent[node]) {
    const frame = r.nodeFrame[node];
    text ||= r.strings[name[frame]];
    if (frame && !(flags[frame] & 1)) return r.strings[name[frame]];
  }
  return text;
}
function rows(r, threads, from, until, width) {
  const most = width / 4, labelled = (until - from) / width * 24;
  return threads.map((thread) => {
    const begin = upperBound(r.in, r.first[thread], r.first[thread + 1], from);
    const end = upperBound(r.out, begin, r.first[thread + 1], until);
    if (end - begin > most || r.info.mode === "sampling") {
      const bins = new Float32Array(width * CHANNELS);
      addBins(r, thread, from, until, width, bins);
      return { thread, bins, items: null };
    }
    const number = Uint32Array.from({ length: end - begin }, (_, i) => begin + i);
    return { thread, bins: null, items: {
      number,
      out: r.out.slice(begin, end),
      wake: r.wake.slice(begin, end),
      in: r.in.slice(begin, end),
      channel: Uint8Array.from(number, (i) => r.kinds[r.wait[i]].channel),
      text: Array.from(number, (i) => r.in[i] - r.out[i] > labelled ? waitText(r, i) : ""),
      run: Array.from({ length: number.length + 1 }, (_, k) => {
        const low = k ? r.in[begin + k - 1] : from, high = begin + k < end ? r.out[begin + k] : until;
        return high - low > labelled ? runText(r, thread, low, high) : "";
      })
    } };
  });
}
function heat(r, range, width) {
  const bins = new Float32Array(width * CHANNELS), whole = r.info.duration_ns;
  for (const thread of threadsOf(r, range)) addBins(r, thread, 0, whole, width, bins);
  return bins;
}
function threadTimes(r, range) {
  const bins = new Float64Array(CHANNELS), weights = new Float64Array(r.combos.n), whole = range.until - range.from;
  const kinds = shownKinds(r, range), shown = [0, 1, 2, 3, 4, 5].map((c) => isShown({ name: "", class: c === 5 ? 4 : c, channel: c }, range));
  const others = range.others ? [] : range.threads?.filter((thread) => r.info.threads[thread] && isOther(r.info.threads[thread])) ?? [];
  return threadsOf(r, { ...range, threads: null }).concat(others).map((thread) => {
    const ns = new Float64Array(CHANNELS);
    if (r.info.mode === "sampling") {
      weights.fill(0);
      addThread(r, thread, range, kinds, weights);
      weights.forEach((weight, combo) => ns[r.kinds[r.combos.kind[combo]].channel] += weight);
    } else {
      bins.fill(0);
      addBins(r, thread, range.from, range.until, 1, bins);
      bins.forEach((share, c) => ns[c] = shown[c] ? Math.round(share * whole) : 0);
    }
    return { thread, ns };
  });
}

// src/engine/chains.ts
var TYPE_FUNCTION = 0;
var TYPE_KERNEL = 1;
var TYPE_INLINED = 2;
var TYPE_KIND = 3;
var TYPE_THREAD = 4;
var Labels = class {
  texts = [];
  places = [];
  types = [];
  /** The function alone, without its line. */
  names = [];
  numbers = /* @__PURE__ */ new Map();
  id(text, place, type, name = text) {
    const key = `${type}\0${text}\0${place}`;
    let number = this.numbers.get(key);
    if (number === void 0) {
      number = this.texts.length;
      this.numbers.set(key, number);
      this.texts.push(text);
      this.places.push(place);
      this.types.push(type);
      this.names.push(name);
    }
    return number;
  }
};
function flameBase(r, lines) {
  const labels = new Labels(), { name, file, line, dso, flags } = r.frames;
  const frameLabel = Int32Array.from(name, (_, i) => {
    const bits = flags[i], text = i ? r.strings[name[i]] : "[no stack]", source = r.strings[file[i]];
    const type = bits & 2 ? TYPE_INLINED : bits & 1 ? TYPE_KERNEL : TYPE_FUNCTION;
    const place = r.strings[dso[i]], shown = bits & 4 ? `${place || "unknown"} ${text}` : text;
    if (lines && source) return labels.id(`${shown} ${source.replace(/^.*\//, "")}:${line[i]}`, source, type, shown);
    return labels.id(shown, place, type);
  });
  const kindLabel = Int32Array.from(r.kinds, (kind) => kind.class ? labels.id(kind.channel === 5 ? `${kind.name} (for work)` : kind.name, "", TYPE_KIND) : -1);
  return { labels, frameLabel, kindLabel, noStack: labels.id("[no stack]", "", TYPE_FUNCTION), focus: null };
}
function focusOn(r, base, name) {
  if (base.focus?.name === name) return base.focus;
  const { names } = base.labels, parent = r.nodeParent, n = parent.length, nearest = new Int32Array(n).fill(-1), found = [];
  const frames = Uint8Array.from(base.frameLabel, (label) => Number(names[label] === name));
  for (let node = 1; node < n; node++) {
    const above = nearest[parent[node]];
    if (!frames[r.nodeFrame[node]]) nearest[node] = above;
    else {
      nearest[node] = node;
      if (above < 0) found.push(node);
    }
  }
  const outermost = Int32Array.from(found.sort((a, b) => r.tree.begin[a] - r.tree.begin[b] || a - b));
  const kinds = Uint8Array.from(base.kindLabel, (label) => Number(label >= 0 && names[label] === name));
  return base.focus = { name, kinds, nearest, outermost };
}
function isInFocus(r, focus, combo) {
  return focus.nearest[r.combos.node[combo]] >= 0 || focus.kinds[r.combos.kind[combo]] === 1;
}
function matching(r, base, text) {
  const wanted = text.toLowerCase(), hit = base.labels.texts.map((label) => label.toLowerCase().includes(wanted));
  const frames = Uint8Array.from(base.frameLabel, (label) => Number(hit[label])), parent = r.nodeParent, n = parent.length;
  const kinds = Uint8Array.from(base.kindLabel, (label) => Number(label >= 0 && hit[label]));
  const nodes = new Uint8Array(n);
  for (let node = 1; node < n; node++) nodes[node] = nodes[parent[node]] | frames[r.nodeFrame[node]];
  return Uint8Array.from(r.combos.node, (node, combo) => nodes[node] | kinds[r.combos.kind[combo]] | (node === 0 ? Number(hit[base.noStack]) : 0));
}

// src/engine/flame.ts
function timesOf(side, isOther2, focus, group, weights, combos) {
  const most = combos?.length ?? weights.length, combo = new Int32Array(most), sums = new Float64Array(most + 1);
  let n = 0;
  for (let i = 0; i < most; i++) {
    const at = combos ? combos[i] : i, ns = weights[at];
    if (!ns || focus && !isInFocus(side.r, focus, at)) continue;
    combo[n] = at;
    sums[n + 1] = sums[n] + ns;
    n++;
  }
  return { side, isOther: isOther2, focus, group, labelOf: null, n, combo, sums };
}
function combosOf(r, threads, range) {
  const windows = threads.map((thread) => {
    const begin = upperBound(r.in, r.first[thread], r.first[thread + 1], range.from - 1), end = upperBound(r.out, begin, r.first[thread + 1], range.until);
    const first = upperBound(r.sampleTime, r.firstSample[thread], r.firstSample[thread + 1], range.from - 1);
    return { begin, end, first, last: upperBound(r.sampleTime, first, r.firstSample[thread + 1], range.until) };
  });
  const most = windows.reduce((sum, { begin, end, first, last }) => sum + 2 * (end - begin) + last - first, 0);
  if (most * 32 > r.combos.n) return null;
  const combos = new Int32Array(most);
  let n = 0;
  for (const { begin, end, first, last } of windows) {
    for (let i = begin; i < end; i++) {
      combos[n++] = r.blockedCombo[i];
      combos[n++] = r.runqCombo[i];
    }
    for (let i = first; i < last; i++) combos[n++] = r.sampleCombo[i];
  }
  return combos.sort().filter((combo, i) => !i || combo !== combos[i - 1]);
}
function groupLabel(r, labels, thread, by) {
  const info = r.info.threads[thread], process = r.info.processes[info.process];
  if (by === "process") return labels.id(`${process.name || "process"}/${process.pid}`, "", TYPE_THREAD);
  return labels.id(threadLabel(info), `${process.name}/${process.pid}`, TYPE_THREAD);
}
function sideTimes(side, isOther2, options) {
  const { r, base, range } = side, focus = options.focus === null ? null : focusOn(r, base, options.focus);
  if (options.by === "none") return [timesOf(side, isOther2, focus, -1, weighAgain(r, range), null)];
  const groups = /* @__PURE__ */ new Map(), weights = new Float64Array(r.combos.n), shown = shownKinds(r, range);
  for (const thread of threadsOf(r, range)) {
    const label = groupLabel(r, base.labels, thread, options.by), members = groups.get(label);
    if (members) members.push(thread);
    else groups.set(label, [thread]);
  }
  return [...groups].map(([label, members]) => {
    const combos = combosOf(r, members, range);
    for (const thread of members) addThread(r, thread, range, shown, weights);
    const times = timesOf(side, isOther2, focus, label, weights, combos);
    if (combos) for (const combo of combos) weights[combo] = 0;
    else weights.fill(0);
    return times;
  }).filter((times) => times.n > 0);
}
var ROOT = -1;
var NO_STACK = -2;
var KIND = -3;
var Pieces = class {
  data = new Int32Array(1 << 14);
  n = 0;
  add(label, times, node, low, high) {
    if ((this.n + 1) * 5 > this.data.length) {
      const data2 = new Int32Array(this.data.length * 2);
      data2.set(this.data);
      this.data = data2;
    }
    const at = this.n++ * 5, { data } = this;
    data[at] = label;
    data[at + 1] = times;
    data[at + 2] = node;
    data[at + 3] = low;
    data[at + 4] = high;
  }
};
function seek(values, low, high, value) {
  let step = 1;
  while (low + step < high && values[low + step] < value) step *= 2;
  let end = Math.min(high, low + step + 1);
  low += step >> 1;
  while (low < end) {
    const middle = low + end >>> 1;
    if (values[middle] < value) low = middle + 1;
    else end = middle;
  }
  return low;
}
var Picture = class {
  constructor(times, labels, inverted, least) {
    this.times = times;
    this.inverted = inverted;
    [this.ns, this.other, this.at] = [new Float64Array(labels), new Float64Array(labels), new Int32Array(labels)];
    const sum = (isOther2) => times.reduce((ns, one) => ns + (one.isOther === isOther2 ? one.sums[one.n] : 0), 0);
    [this.total, this.compared] = [[sum(false)], [sum(true)]];
    times.forEach((one, i) => this.pieces.add(0, i, ROOT, 0, one.n));
    const total = this.total[0], compared = this.compared[0];
    this.worth = !compared ? [1, 0] : !total ? [0, 1] : [0.5, 0.5 * total / compared];
    this.size = [this.sizeOf(total, compared)];
    const limit = least * this.size[0];
    for (let node = 0; node < this.parent.length; node++) {
      this.found.n = 0;
      if ((node + 1) * CHANNELS > this.channels.length) {
        const grown = new Float64Array(this.channels.length * 2);
        grown.set(this.channels);
        this.channels = grown;
      }
      const next = this.pieces.n, end = this.first[node + 1] ?? next;
      for (let i = this.first[node]; i < end; i++) this.expand(node, i * 5);
      this.addChildren(node, limit);
    }
    for (let at = this.parent.length * CHANNELS - 1; at >= CHANNELS; at--)
      this.channels[this.parent[Math.floor(at / CHANNELS)] * CHANNELS + at % CHANNELS] += this.channels[at];
  }
  times;
  inverted;
  pieces = new Pieces();
  found = new Pieces();
  /** By label, while the children of a node are looked for. */
  ns;
  other;
  at;
  parent = [-1];
  label = [-1];
  depth = [0];
  start = [0];
  size;
  /** What time of both sides is worth in sizes. */
  worth;
  total;
  compared;
  self = [0];
  /** By channel: first what no child has, in the end all. */
  channels = new Float64Array(CHANNELS << 10);
  first = [0];
  sizeOf(ns, other) {
    return ns * this.worth[0] + other * this.worth[1];
  }
  expand(node, at) {
    const { data } = this.pieces, [times, from, low, high] = [data[at + 1], data[at + 2], data[at + 3], data[at + 4]], one = this.times[times];
    if (from === ROOT && one.group >= 0 && node === 0) this.found.add(this.labelOf(one, one.group), times, ROOT, low, high);
    else if (this.inverted) this.expandChain(node, times, from, low, high);
    else if (from === ROOT && one.focus) this.expandFocus(times, one, one.focus);
    else this.expandTree(node, times, from === ROOT ? 0 : from, low, high);
  }
  labelOf(one, label) {
    return one.labelOf ? one.labelOf[label] : label;
  }
  nodeLabel(one, node) {
    return this.labelOf(one, one.side.base.frameLabel[one.side.r.nodeFrame[node]]);
  }
  addSelf(node, one, low, high) {
    if (one.isOther) return;
    this.self[node] += one.sums[high] - one.sums[low];
    this.addChannels(node, one, low, high);
  }
  /** Adds what no child of a node has to its times by channel: each combination once in the picture. */
  addChannels(node, one, low, high) {
    const { channels } = this, { sums, combo, side: { r } } = one;
    if (one.isOther) return;
    for (let k = low; k < high; k++) channels[node * CHANNELS + r.kinds[r.combos.kind[combo[k]]].channel] += sums[k + 1] - sums[k];
  }
  /** Children of a node of the tree, of what has no stack, or of a kind, which has none. */
  expandTree(node, times, from, low, high) {
    const one = this.times[times], { r, base } = one.side, { own, end, start, list } = r.tree, { kind } = r.combos, { combo } = one;
    if (from === KIND) return this.addSelf(node, one, low, high);
    let k = low;
    const last = from === NO_STACK ? high : own[from];
    if (from === 0) {
      while (k < high && combo[k] < last) k++;
      if (k > low) this.found.add(this.labelOf(one, base.noStack), times, NO_STACK, low, k);
    } else
      for (; k < high && (from === NO_STACK || combo[k] < last); k++) {
        const label = base.kindLabel[kind[combo[k]]];
        if (label < 0) this.addSelf(node, one, k, k + 1);
        else this.found.add(this.labelOf(one, label), times, KIND, k, k + 1);
      }
    for (let child = from < 0 ? 0 : start[from], after = from < 0 ? 0 : start[from + 1]; k < high; child++) {
      const at = combo[k];
      if (end[list[child]] <= at) {
        let beyond = after;
        while (child < beyond) {
          const middle = child + beyond >>> 1;
          if (end[list[middle]] <= at) child = middle + 1;
          else beyond = middle;
        }
      }
      const next = list[child], until = seek(combo, k, high, end[next]);
      this.found.add(this.nodeLabel(one, next), times, next, k, until);
      k = until;
    }
  }
  /** All outermost nodes of the function, and waits of that kind elsewhere. */
  expandFocus(times, one, focus) {
    const { r, base } = one.side, { tree } = r, { combo, n } = one;
    for (let k = 0, i = 0; k < n; ) {
      const at = combo[k];
      while (i < focus.outermost.length && tree.end[focus.outermost[i]] <= at) i++;
      const node = focus.outermost[i];
      if (node !== void 0 && tree.begin[node] <= at) {
        const until = seek(combo, k, n, tree.end[node]);
        this.found.add(this.nodeLabel(one, node), times, node, k, until);
        k = until;
      } else {
        this.found.add(this.labelOf(one, base.kindLabel[r.combos.kind[at]]), times, KIND, k, k + 1);
        k++;
      }
    }
  }
  /** The next function outwards of one chain; from the root, the innermost of all. */
  expandChain(node, times, from, low, high) {
    const one = this.times[times], { r, base } = one.side;
    if (from === 0) this.addSelf(node, one, low, high);
    else if (from === NO_STACK) this.found.add(this.labelOf(one, base.noStack), times, 0, low, high);
    else if (from > 0) this.found.add(this.nodeLabel(one, from), times, r.nodeParent[from], low, high);
    else
      for (let k = low; k < high; k++) {
        const at = one.combo[k], kind = r.combos.kind[at], start = r.combos.node[at], label = base.kindLabel[kind];
        const nearest = one.focus && !one.focus.kinds[kind] ? one.focus.nearest[start] : -1;
        if (nearest >= 0) this.found.add(this.nodeLabel(one, nearest), times, r.nodeParent[nearest], k, k + 1);
        else if (label >= 0) this.found.add(this.labelOf(one, label), times, start || NO_STACK, k, k + 1);
        else if (start) this.found.add(this.nodeLabel(one, start), times, r.nodeParent[start], k, k + 1);
        else this.found.add(this.labelOf(one, base.noStack), times, 0, k, k + 1);
      }
  }
  /** Adds the children that what was found makes: those that are large enough, by time. */
  addChildren(node, limit) {
    const { ns, other, at, found } = this, { data } = found, labels = [];
    for (let i = 0; i < found.n * 5; i += 5) {
      const label = data[i], one = this.times[data[i + 1]], part = one.sums[data[i + 4]] - one.sums[data[i + 3]];
      if (!at[label]++) {
        labels.push(label);
        ns[label] = other[label] = 0;
      }
      (one.isOther ? other : ns)[label] += part;
    }
    const size = (label) => this.sizeOf(ns[label], other[label]);
    const kept = labels.filter((label) => size(label) >= limit).sort((a, b) => size(b) - size(a) || a - b);
    let start = this.start[node], piece = this.pieces.n;
    for (const label of labels) if (size(label) < limit) at[label] = -1;
    for (const label of kept) {
      this.parent.push(node);
      this.label.push(label);
      this.depth.push(this.depth[node] + 1);
      this.start.push(start);
      this.size.push(size(label));
      this.total.push(ns[label]);
      this.compared.push(other[label]);
      this.self.push(0);
      this.first.push(piece);
      start += size(label);
      piece += at[label];
      at[label] = piece - at[label];
    }
    this.place(node, piece);
    for (const label of labels) at[label] = 0;
  }
  /** Puts pieces of children, up to number `end`, where `at` says that those with their label go, if anywhere. */
  place(node, end) {
    const { at, found, pieces: pieces2 } = this, { data } = found;
    while (pieces2.data.length < end * 5) {
      const grown = new Int32Array(pieces2.data.length * 2);
      grown.set(pieces2.data);
      pieces2.data = grown;
    }
    for (let i = 0; i < found.n * 5; i += 5) {
      const to = at[data[i]] * 5;
      if (to < 0) {
        this.addChannels(node, this.times[data[i + 1]], data[i + 3], data[i + 4]);
        continue;
      }
      at[data[i]]++;
      for (let k = 0; k < 5; k++) pieces2.data[to + k] = data[i + k];
    }
    pieces2.n = end;
  }
};
function draw(times, labels, options) {
  const picture = new Picture(times, labels.texts.length, options.inverted, options.least), n = picture.parent.length;
  const used = /* @__PURE__ */ new Map(), texts = [], places = [], names = [];
  const label = new Uint32Array(n), type = new Uint8Array(n), channels = picture.channels.slice(0, n * CHANNELS);
  for (let i = 0; i < n; i++) {
    const number = picture.label[i];
    let short = used.get(number);
    if (short === void 0) {
      used.set(number, short = texts.length);
      texts.push(i ? labels.texts[number] : "all");
      places.push(i ? labels.places[number] : "");
      names.push(i ? labels.names[number] : "");
    }
    label[i] = short;
    type[i] = i ? labels.types[number] : TYPE_THREAD;
  }
  return {
    total: picture.total[0],
    compared: picture.compared[0],
    labels: texts,
    places,
    names,
    label,
    type,
    channels,
    depth: picture.depth.reduce((most, depth) => Math.max(most, depth), 0),
    parent: Int32Array.from(picture.parent),
    start: Float64Array.from(picture.start),
    size: Float64Array.from(picture.size),
    self: Float64Array.from(picture.self),
    ns: Float64Array.from(picture.total),
    other: Float64Array.from(picture.compared)
  };
}
function flame(r, base, range, options) {
  return draw(sideTimes({ r, base, range }, false, options), base.labels, options);
}
function flameDifference(one, other, options) {
  const times = [...sideTimes(one, false, options), ...sideTimes(other, true, options)];
  if (one.base === other.base) return draw(times, one.base.labels, options);
  const labels = new Labels(), maps = [one, other].map(({ base: { labels: { texts, places, types, names } } }) => Int32Array.from(texts, (text, i) => types[i] === TYPE_THREAD ? labels.id(text.replace(/\/\d+$/, ""), "", TYPE_THREAD) : labels.id(text, places[i], types[i], names[i])));
  return draw(times.map((each) => ({ ...each, labelOf: maps[Number(each.isOther)] })), labels, options);
}
function search(r, base, range, text, focus = null) {
  const found = matching(r, base, text), weights = weighAgain(r, range), inFocus = focus === null ? null : focusOn(r, base, focus);
  let ns = 0, total = 0;
  weights.forEach((weight, combo) => {
    if (inFocus && !isInFocus(r, inFocus, combo)) return;
    total += weight;
    if (found[combo]) ns += weight;
  });
  return { ns, total };
}

// src/engine/follow.ts
var MOST = 200;
function stackText(r, stack) {
  const frames = [], { name, file, line, dso, flags } = r.frames;
  for (let node = r.stackNode[stack]; node; node = r.nodeParent[node]) {
    const frame = r.nodeFrame[node], source = r.strings[file[frame]];
    frames.push({
      name: frame ? r.strings[name[frame]] : "[no stack]",
      place: source ? `${source}:${line[frame]}` : r.strings[dso[frame]],
      kernel: (flags[frame] & 1) === 1,
      inlined: (flags[frame] & 2) === 2
    });
  }
  return frames;
}
function runStack(r, thread, from, until, ending) {
  const end = r.firstSample[thread + 1], sample = upperBound(r.sampleTime, r.firstSample[thread], end, from - 1);
  if (sample < end && r.sampleTime[sample] < until) return stackText(r, r.combos.stack[r.sampleCombo[sample]]);
  if (ending < r.first[thread + 1]) return stackText(r, r.combos.stack[r.blockedCombo[ending]]);
  return [];
}
function waiting(r, thread, i, queued) {
  const kind = r.kinds[r.wait[i]], wait = r.info.waits[r.wait[i]];
  return {
    thread,
    interval: i,
    from: queued ? r.wake[i] : r.out[i],
    until: queued ? r.in[i] : r.wake[i],
    channel: queued ? 3 : kind.channel,
    text: queued ? wait.preempted ? "preempted" : "run queue" : waitText(r, i),
    stack: stackText(r, r.combos.stack[r.blockedCombo[i]]),
    idle: queued ? "no" : wait.idle
  };
}
function pieces(r, thread, from, until, most) {
  const info = r.info.threads[thread], unit = r.info.unit_ns, list = [];
  const created = info.created * unit, ended = info.ended * unit, end = r.first[thread + 1];
  let time = from, i = upperBound(r.in, r.first[thread], end, from), more = 0;
  const put = (piece) => {
    const cut = { ...piece, from: Math.max(piece.from, from), until: Math.min(piece.until, until) };
    if (cut.until <= cut.from) return;
    if (list.length < most) list.push(cut);
    else more++;
  };
  const gap = (begin, until2, text, stack = []) => put({
    thread,
    interval: -1,
    from: begin,
    until: until2,
    channel: text === "running" ? 0 : -1,
    text,
    stack,
    idle: "no"
  });
  const run = (begin, until2) => {
    if (until2 <= begin) return;
    if (!info.recorded) return gap(begin, until2, "not recorded");
    const low = Math.min(Math.max(begin, created), until2), high = Math.max(low, Math.min(until2, ended));
    gap(begin, low, "not there");
    if (high > low) runOrWait(low, high);
    gap(high, until2, "not there");
  };
  const runOrWait = (begin, until2) => {
    const stack = list.length < most ? runStack(r, thread, begin, until2, i) : [], first = r.firstSample[thread];
    const sample = upperBound(r.sampleTime, first, r.firstSample[thread + 1], begin);
    const isSampled = sample < r.firstSample[thread + 1] && r.sampleTime[sample] <= until2;
    if (r.info.mode === "trace" || isSampled) gap(begin, until2, "running", stack);
    else gap(begin, until2, "running, or waits without a sampling point");
  };
  for (; i < end && r.out[i] < until; i++) {
    run(time, Math.min(r.out[i], until));
    if (list.length < most) {
      put(waiting(r, thread, i, false));
      put(waiting(r, thread, i, true));
    } else more++;
    time = Math.max(time, r.in[i]);
  }
  run(time, until);
  return { list, more };
}
function pieceAt(r, thread, time) {
  const end = r.first[thread + 1], i = upperBound(r.in, r.first[thread], end, time);
  if (i < end && r.out[i] <= time) return waiting(r, thread, i, time >= r.wake[i]);
  const from = i > r.first[thread] ? r.in[i - 1] : 0, until = i < end ? r.out[i] : r.info.duration_ns;
  const list = pieces(r, thread, Math.min(from, time), Math.max(until, time + 1), 5).list;
  return list.find((piece) => piece.from <= time && time < piece.until) ?? list[0];
}
function causeOf(r, i, from, until) {
  const row = r.waker[i], { thread, context, about } = r.wakers;
  const type = ["unknown", "thread", "other", "end"][context[row]] ?? "unknown";
  const who = type === "thread" ? thread[row] : 0, text = r.strings[about[row]];
  const low = Math.max(from, r.out[i]), high = Math.min(until, r.wake[i]);
  const found = who ? pieces(r, who, low, high, MOST) : { list: [], more: 0 };
  const ns = new Float32Array(CHANNELS);
  if (who && high > low) addBins(r, who, low, high, 1, ns);
  return {
    type,
    thread: who,
    about: text,
    stack: stackText(r, r.wakerStack[i]),
    at: r.wake[i],
    pieces: found.list,
    more: found.more,
    ns: Array.from(ns, (share) => share * (high - low))
  };
}
function intervalsAt(r, threads, times) {
  const stack = new Uint32Array(threads.length), wait = new Uint32Array(threads.length);
  threads.forEach((thread, i) => {
    const end = r.first[thread + 1], at = upperBound(r.in, r.first[thread], end, times[i]);
    if (!thread || at >= end || r.out[at] > times[i]) return;
    stack[i] = r.combos.stack[r.blockedCombo[at]];
    wait[i] = r.wait[at] + 1;
  });
  return { stack, wait };
}

// src/engine/load.ts
var ComboTable = class {
  stacks = new Uint32Array(1 << 12);
  kinds = new Uint16Array(1 << 12);
  n = 0;
  /** 1 + the number. */
  numbers = [];
  id(stack, kind) {
    let numbers = this.numbers[kind];
    if (!numbers || stack >= numbers.length) {
      const grown = new Uint32Array(Math.max(1 << 10, 2 * stack));
      if (numbers) grown.set(numbers);
      this.numbers[kind] = numbers = grown;
    }
    return (numbers[stack] ||= this.add(stack, kind)) - 1;
  }
  add(stack, kind) {
    if (this.n === this.stacks.length) {
      const stacks = new Uint32Array(this.n * 2), kinds = new Uint16Array(this.n * 2);
      stacks.set(this.stacks);
      kinds.set(this.kinds);
      [this.stacks, this.kinds] = [stacks, kinds];
    }
    this.stacks[this.n] = stack;
    this.kinds[this.n++] = kind;
    return this.n;
  }
  result() {
    return { stacks: this.stacks.slice(0, this.n), kinds: this.kinds.slice(0, this.n) };
  }
};
function counts(info, type) {
  const first = new Uint32Array(info.threads.length + 1);
  for (const chunk of info.chunks)
    if (chunk.type === type) for (const [thread, count] of chunk.runs) first[thread + 1] += count;
  for (let i = 1; i < first.length; i++) first[i] += first[i - 1];
  return first;
}
var Recent = class {
  later = new Uint32Array(1 << 10);
  earlier = new Uint32Array(1 << 10);
  number(key, code) {
    if (key >= this.later.length) this.grow(key);
    if (code === 0) return this.later[key];
    const before = this.later[key], number = code === 1 ? this.earlier[key] : code - 2;
    this.earlier[key] = before;
    return this.later[key] = number;
  }
  grow(key) {
    const later = new Uint32Array(2 * key + 2), earlier = new Uint32Array(2 * key + 2);
    later.set(this.later);
    earlier.set(this.earlier);
    [this.later, this.earlier] = [later, earlier];
  }
};
function eachRun(chunk, next, each) {
  let row = 0;
  for (const [thread, count] of chunk.runs) {
    each(thread, row, next[thread], count);
    next[thread] += count;
    row += count;
  }
}
var unzigzag2 = (coded) => coded % 2 ? -(coded + 1) / 2 : coded / 2;
var Scratch = class {
  columns = [];
  column(table2, number, to) {
    let numbers = this.columns[to];
    if (!numbers || numbers.length < table2.rows) this.columns[to] = numbers = new Float64Array(table2.rows);
    readColumn(table2, number, numbers);
    return numbers;
  }
};
function decodeTimes(r, chunk, next, scratch) {
  const { table: table2 } = chunk, unit = r.info.unit_ns;
  const gap = scratch.column(table2, 0, 0), blocked = scratch.column(table2, 1, 1), runq = scratch.column(table2, 2, 2);
  eachRun(chunk, next, (_, first, to, count) => {
    readColumn(table2, 4, r.wait, to, first, count);
    readColumn(table2, 5, r.object, to, first, count);
    readColumn(table2, 6, r.waker, to, first, count);
    let time = 0;
    for (let row = first, i = to; row < first + count; row++, i++) {
      r.out[i] = (time += unzigzag2(gap[row])) * unit;
      r.wake[i] = (time += blocked[row]) * unit;
      r.in[i] = (time += runq[row]) * unit;
    }
  });
}
function decodeSampleTimes(r, chunk, next, scratch) {
  const { table: table2 } = chunk, gap = scratch.column(table2, 0, 0);
  eachRun(chunk, next, (_, first, to, count) => {
    readColumn(table2, 1, r.samplePoints, to, first, count);
    let time = 0;
    for (let row = first, i = to; row < first + count; row++, i++) r.sampleTime[i] = (time += unzigzag2(gap[row])) * r.info.unit_ns;
  });
}
function decodeStacks(r, chunk, next, combos, memory, scratch) {
  const { table: table2 } = chunk, { waits } = r.info, queued = waits.length + 1, preempted = queued + 1;
  const stack = scratch.column(table2, 3, 0), wakerStack = scratch.column(table2, 7, 1);
  eachRun(chunk, next, (thread, first, to, count) => {
    if (r.blockedWeight) {
      readColumn(table2, 8, r.blockedPoints, to, first, count);
      readColumn(table2, 9, r.runqPoints, to, first, count);
    }
    let at = 0;
    for (let row = first, i = to; row < first + count; row++, i++) {
      at = memory.next.number(at, stack[row]);
      const number = r.wait[i], wait = waits[number];
      r.wakerStack[i] = memory.wakers.number(at, wakerStack[row]);
      r.blockedCombo[i] = combos.id(at, number);
      r.runqCombo[i] = combos.id(at, wait.preempted ? preempted : queued);
      if (!r.blockedWeight) continue;
      r.blockedWeight[i] = timeOf(r.info, thread, wait.class, r.blockedPoints[i]);
      r.runqWeight[i] = timeOf(r.info, thread, CLASS_SCHED, r.runqPoints[i]);
    }
  });
}
function decodeSampleStacks(r, chunk, next, combos, scratch) {
  const stack = scratch.column(chunk.table, 2, 0), running = r.info.waits.length;
  eachRun(chunk, next, (_, first, to, count) => {
    for (let row = first, i = to; row < first + count; row++, i++) r.sampleCombo[i] = combos.id(stack[row], running);
  });
}
function sumUp(r) {
  const n = r.out.length, blocks = Math.floor(n / STRIDE) + 1;
  const sums = new Float64Array(blocks * CHANNELS), running = new Float64Array(CHANNELS);
  for (let i = 0; i < n; i++) {
    if (i % STRIDE === 0) sums.set(running, i / STRIDE * CHANNELS);
    addParts(r, i, running, 0);
  }
  if (n % STRIDE === 0) sums.set(running, n / STRIDE * CHANNELS);
  return sums;
}
var integers = (table2, number) => {
  const numbers = new Uint32Array(table2.rows);
  readColumn(table2, number, numbers);
  return numbers;
};
function orderCombos(r, stacks, kinds) {
  const parent = r.nodeParent, n = parent.length, combos = stacks.length;
  const begin = new Int32Array(n), own = new Int32Array(n), end = new Int32Array(n), start = new Int32Array(n + 1), list = new Int32Array(n);
  for (let i = 0; i < combos; i++) own[r.stackNode[stacks[i]]]++;
  for (let node = n - 1; node > 0; node--) {
    end[node] += own[node];
    end[parent[node]] += end[node];
    start[parent[node] + 1]++;
  }
  end[0] += own[0];
  for (let node = 0; node < n; node++) start[node + 1] += start[node];
  const nextCombo = new Int32Array(n), nextChild = start.slice();
  nextCombo[0] = own[0];
  for (let node = 1; node < n; node++) {
    const above = parent[node], at = nextCombo[above];
    list[nextChild[above]++] = node;
    nextCombo[above] = at + end[node];
    begin[node] = at;
    end[node] += at;
    own[node] += at;
    nextCombo[node] = own[node];
  }
  const next = begin.slice(), order = new Uint32Array(combos);
  r.combos = { n: combos, stack: new Uint32Array(combos), kind: new Uint16Array(combos), node: new Int32Array(combos) };
  for (let i = 0; i < combos; i++) {
    const node = r.stackNode[stacks[i]], at = order[i] = next[node]++;
    r.combos.node[at] = node;
    r.combos.stack[at] = stacks[i];
    r.combos.kind[at] = kinds[i];
  }
  for (const numbers of [r.blockedCombo, r.runqCombo, r.sampleCombo])
    for (let i = 0; i < numbers.length; i++) numbers[i] = order[numbers[i]];
  return { begin, own, end, start, list };
}
var NOTHING = new Uint32Array(0);
function emptyRecording(info) {
  const first = counts(info, "intervals"), firstSample = counts(info, "samples");
  const n = first[first.length - 1], samples = firstSample[firstSample.length - 1], sampled = info.mode === "sampling";
  const none = new Int32Array(0);
  return {
    info,
    first,
    firstSample,
    strings: [],
    nodeParent: NOTHING,
    nodeFrame: NOTHING,
    stackNode: NOTHING,
    frames: { name: NOTHING, file: NOTHING, line: NOTHING, dso: NOTHING, flags: new Uint8Array(0) },
    wakers: { thread: NOTHING, context: new Uint8Array(0), running: NOTHING, about: NOTHING },
    out: new Float64Array(n),
    wake: new Float64Array(n),
    in: new Float64Array(n),
    wait: new Uint16Array(n),
    object: new Uint32Array(n),
    waker: new Uint32Array(n),
    wakerStack: new Uint32Array(n),
    blockedWeight: sampled ? new Float64Array(n) : null,
    runqWeight: sampled ? new Float64Array(n) : null,
    blockedPoints: sampled ? new Uint32Array(n) : null,
    runqPoints: sampled ? new Uint32Array(n) : null,
    blockedCombo: new Uint32Array(n),
    runqCombo: new Uint32Array(n),
    sampleTime: new Float64Array(samples),
    samplePoints: new Uint32Array(samples),
    sampleCombo: new Uint32Array(samples),
    combos: { n: 0, stack: NOTHING, kind: new Uint16Array(0), node: none },
    tree: { begin: none, own: none, end: none, start: none, list: none },
    kinds: kindsOf(info),
    sums: new Float64Array(0)
  };
}
async function loadTimes(info, read, progress) {
  const recording = emptyRecording(info), next = recording.first.slice(), nextSample = recording.firstSample.slice(), scratch = new Scratch();
  const wakers = openTable(await read("wakers")), chunks = [];
  recording.wakers = {
    thread: integers(wakers, 0),
    context: Uint8Array.from(integers(wakers, 1)),
    running: integers(wakers, 2),
    about: integers(wakers, 3)
  };
  const readChunk = (i) => info.chunks[i] ? read(info.chunks[i].block.replace(/^r\d+\./, "")) : null;
  let reading = readChunk(0);
  for (const [i, { type, runs }] of info.chunks.entries()) {
    const bytes = await reading;
    reading = readChunk(i + 1);
    const chunk = { table: openTable(bytes), runs, isSamples: type === "samples" };
    chunks.push(chunk);
    if (chunk.isSamples) decodeSampleTimes(recording, chunk, nextSample, scratch);
    else decodeTimes(recording, chunk, next, scratch);
    progress((i + 1) / info.chunks.length);
  }
  recording.sums = sumUp(recording);
  return { recording, chunks, read };
}
async function loadStacks({ recording: r, chunks, read }, pause) {
  const combos = new ComboTable(), memory = { next: new Recent(), wakers: new Recent() }, scratch = new Scratch();
  const next = r.first.slice(), nextSample = r.firstSample.slice();
  for (let chunk = chunks.shift(); chunk; chunk = chunks.shift()) {
    if (chunk.isSamples) decodeSampleStacks(r, chunk, nextSample, combos, scratch);
    else decodeStacks(r, chunk, next, combos, memory, scratch);
    await pause();
  }
  const frames = openTable(await read("frames")), nodes = openTable(await read("nodes"));
  r.strings = decodeStrings(await read("strings"));
  r.frames = {
    name: integers(frames, 0),
    file: integers(frames, 1),
    line: integers(frames, 2),
    dso: integers(frames, 3),
    flags: Uint8Array.from(integers(frames, 4))
  };
  r.nodeParent = integers(nodes, 0);
  for (let i = 0; i < r.nodeParent.length; i++) r.nodeParent[i] = i - r.nodeParent[i];
  r.nodeFrame = integers(nodes, 1);
  r.stackNode = integers(openTable(await read("stacks")), 0);
  const { stacks, kinds } = combos.result();
  r.tree = orderCombos(r, stacks, kinds);
  return r;
}
var loadRecording = async (info, read) => loadStacks(await loadTimes(info, read, () => void 0), () => Promise.resolve());

// test/engine.test.ts
function randomNumbers(seed) {
  let state = seed >>> 0;
  return (limit) => {
    state = Math.imul(state, 1664525) + 1013904223 >>> 0;
    return Math.floor(state / 2 ** 32 * limit);
  };
}
var zigzag = (value) => value < 0 ? -2 * value - 1 : 2 * value;
function varint(value) {
  const bytes = [];
  for (; value >= 128; value = Math.floor(value / 128)) bytes.push(value % 128 + 128);
  return [...bytes, value];
}
function table(columns, total = columns[0].length) {
  const widths = columns.map((numbers) => {
    const largest = numbers.reduce((most, value) => Math.max(most, value), 0);
    return largest ? Math.floor(Math.log2(largest) / 8) + 1 : 0;
  });
  const planes = columns.flatMap((numbers, i) => Array.from({ length: widths[i] }, (_, plane) => numbers.map((value) => Math.floor(value / 256 ** plane) % 256)).flat());
  return Uint8Array.from([...varint(columns.length), ...varint(total), ...widths, ...planes]);
}
var WAITS = [
  { class: 2, kind: "futex", idle: "no", preempted: false },
  { class: 1, kind: "disk read", idle: "no", preempted: false },
  { class: 4, kind: "epoll", idle: "requests", preempted: false },
  { class: 3, kind: "", idle: "no", preempted: true }
];
var NODES = 12;
function make(seed, mode) {
  const random = randomNumbers(seed), threads = 4, duration = 1e5;
  const intervals = [], samples = [];
  for (let thread = 1; thread <= threads; thread++) {
    for (let time = random(300); time < duration - 4e3; ) {
      const wait = random(WAITS.length), out = time, wake = wait === 3 ? out : out + random(1500), back = wake + random(300);
      intervals.push({ thread, out, wake, in: back, wait, stack: random(NODES), waker: random(threads + 1), points: [random(3), random(2)] });
      time = back + 1 + random(400);
    }
    for (let time = 500; time < duration; time += 1 + random(2e3)) samples.push({ thread, time, points: random(3), stack: random(NODES) });
  }
  return { intervals, samples, ...encode(mode, threads, duration, intervals, samples) };
}
function encode(mode, threads, duration, intervals, samples) {
  const blocks = /* @__PURE__ */ new Map(), chunks = [];
  const strings = ["", ...Array.from({ length: NODES }, (_, i) => `f${i}`), "program", "vda"];
  blocks.set("strings", new TextEncoder().encode(strings.map((text) => `${text}\0`).join("")));
  const numbers = (n, of) => Array.from({ length: n }, (_, i) => of(i));
  blocks.set("frames", table([numbers(NODES, (i) => i + (i ? 1 : 0)), numbers(NODES, () => 0), numbers(NODES, (i) => i), numbers(NODES, () => NODES + 1), numbers(NODES, (i) => i % 3 === 2 ? 1 : 0)]));
  blocks.set("nodes", table([numbers(NODES, (i) => i - (i >> 1)), numbers(NODES, (i) => i ? 1 + i % 5 : 0)]));
  blocks.set("stacks", table([numbers(NODES, (i) => i)]));
  blocks.set("wakers", table([numbers(threads + 1, (i) => i), numbers(threads + 1, (i) => i ? 1 : 0), numbers(threads + 1, () => 0), numbers(threads + 1, () => 0)]));
  const recent = /* @__PURE__ */ new Map();
  const code = (key, value) => {
    const [later, earlier] = recent.get(key) ?? [];
    if (later === value) return 0;
    recent.set(key, later === void 0 ? [value] : [value, later]);
    return earlier === value ? 1 : value + 2;
  };
  for (let at = 0; at < intervals.length; at += 50) {
    const part = intervals.slice(at, at + 50), runs2 = [];
    const gap = part.map((one, i) => {
      const run = runs2.at(-1);
      if (run?.[0] === one.thread) run[1]++;
      else runs2.push([one.thread, 1]);
      return zigzag(one.out - (run?.[0] === one.thread ? part[i - 1].in : 0));
    });
    const pick = (of) => part.map(of), name = `r0.intervals.${at / 50}`;
    blocks.set(name.slice(3), table([
      gap,
      pick((one) => one.wake - one.out),
      pick((one) => one.in - one.wake),
      part.map((one, i) => code(i && part[i - 1].thread === one.thread ? part[i - 1].stack : 0, one.stack)),
      pick((one) => one.wait),
      pick(() => 0),
      pick((one) => one.waker),
      pick(() => 2),
      mode === "trace" ? [] : pick((one) => one.points[0]),
      mode === "trace" ? [] : pick((one) => one.points[1])
    ]));
    chunks.push({ block: name, type: "intervals", runs: runs2, from: 0, until: duration });
  }
  const runs = [], gaps = samples.map((one, i) => {
    const run = runs.at(-1);
    if (run?.[0] === one.thread) run[1]++;
    else runs.push([one.thread, 1]);
    return zigzag(one.time - (run?.[0] === one.thread ? samples[i - 1].time : 0));
  });
  blocks.set("samples.0", table([gaps, samples.map((one) => one.points), samples.map((one) => one.stack)]));
  chunks.push({ block: "r0.samples.0", type: "samples", runs, from: 0, until: duration });
  const thread = (tid) => ({
    tid,
    process: 1,
    names: [[0, `t${tid}`]],
    parent: 0,
    recorded: true,
    waker_only: false,
    created: 0,
    ended: duration,
    exited: true,
    ns: [0, 0, 0, 0, 0],
    factor: [1.01, 0.98, 1.1, 1, 0.9]
  });
  const info = {
    name: "random",
    command: "",
    machine: "",
    duration_ns: duration,
    mode,
    period_ns: 1e3,
    unit_ns: 1,
    diagnostics: [],
    processes: [{ pid: 0, name: "", parent: 0 }, { pid: 1, name: "program", parent: 0 }],
    threads: numbers(threads + 1, (i) => i).map(thread),
    waits: WAITS,
    objects: [""],
    chunks,
    blocks: []
  };
  return { info, blocks };
}
var load = (made) => loadRecording(made.info, async (part) => {
  const bytes = made.blocks.get(part);
  assert.ok(bytes, `block ${part}`);
  return bytes;
});
var OPTIONS = { by: "none", inverted: false, lines: false, focus: null, least: 0 };
function expected(made, range) {
  const sums = [0, 0, 0, 0, 0, 0], { info } = made, trace = info.mode === "trace";
  const add = (thread, cls, channel, begin, end, points) => {
    if (!(range.classes >> cls & 1) || channel === 5 && !range.idle) return;
    const low = Math.max(begin, range.from), high = Math.min(end, range.until);
    if (low > high || low === high && (end > begin || begin === range.until)) return;
    const before = (x) => end > begin ? Math.floor(points * x / (end - begin)) : 0;
    const share = end > begin ? before(high - begin) - before(low - begin) : points;
    sums[channel] += trace ? high - low : Math.floor(share * info.period_ns * info.threads[thread].factor[cls] + 0.5);
  };
  for (const one of made.intervals) {
    if (range.threads && !range.threads.includes(one.thread)) continue;
    const wait = WAITS[one.wait];
    add(one.thread, wait.class, wait.idle === "no" ? wait.class : 5, one.out, one.wake, one.points[0]);
    add(one.thread, 3, 3, one.wake, one.in, one.points[1]);
  }
  for (const one of made.samples) {
    if (range.threads && !range.threads.includes(one.thread) || one.time < range.from || one.time >= range.until || !(range.classes & 1)) continue;
    sums[0] += Math.floor(one.points * info.period_ns * info.threads[one.thread].factor[0] + 0.5);
  }
  return sums;
}
function channelsOf(r, range) {
  const sums = [0, 0, 0, 0, 0, 0], weights = weigh(r, range);
  weights.forEach((ns, combo) => sums[r.kinds[r.combos.kind[combo]].channel] += ns);
  return sums;
}
function checkFlame(picture, total) {
  assert.equal(picture.total, total);
  const below = new Float64Array(picture.parent.length), end = new Float64Array(picture.parent.length);
  for (let node = 1; node < picture.parent.length; node++) {
    const parent = picture.parent[node];
    assert.ok(parent < node);
    assert.ok(picture.start[node] >= picture.start[parent] + end[parent] - 1e-6);
    end[parent] = picture.start[node] + picture.ns[node] - picture.start[parent];
    below[parent] += picture.ns[node];
  }
  for (let node = 0; node < picture.parent.length; node++) {
    assert.equal(picture.self[node] + below[node], picture.ns[node]);
    let sum = 0;
    for (let c = 0; c < CHANNELS; c++) sum += picture.channels[node * CHANNELS + c];
    assert.equal(sum, picture.ns[node]);
  }
}
test("blocks are decoded, and damaged tables are refused", async () => {
  const bytes = Uint8Array.from([1, 2, 3, 250]);
  assert.deepEqual(await inflate(deflateSync(bytes).toString("base64")), bytes);
  assert.deepEqual(fromBase64("AQL/"), Uint8Array.from([1, 2, 255]));
  assert.deepEqual(decodeStrings(new TextEncoder().encode("\0a\0\xFC\0")), ["", "a", "\xFC"]);
  const numbers = [0, 1, 255, 256, 2 ** 40 + 17, 2 ** 50], made = table([numbers.map(zigzag), numbers, [0, 0, 0, 0, 0, 0]]);
  assert.deepEqual([...column(openTable(made), 0, true)], numbers);
  assert.deepEqual([...column(openTable(made), 1)], numbers);
  assert.deepEqual([...column(openTable(made), 2)], [0, 0, 0, 0, 0, 0]);
  for (let n = 0; n < made.length; n++) assert.throws(() => openTable(made.subarray(0, n)), `cut to ${n}`);
});
for (const mode of ["trace", "sampling"])
  test(`time of selections, ${mode}`, async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const made = make(seed, mode), r = await load(made), random = randomNumbers(seed * 7);
      for (let i = 0; i < 20; i++) {
        const from = random(9e4), range = {
          from: i ? from : 0,
          until: i ? from + 1 + random(4e4) : 1e5,
          threads: random(2) ? null : [1 + random(4)],
          classes: i ? 1 + random(31) : 31,
          idle: random(2) === 1,
          others: false
        };
        assert.deepEqual(channelsOf(r, range), expected(made, range), `seed ${seed}, selection ${i}`);
      }
    }
  });
test("threads recorded only for their wakeups are left out, unless they are wanted", async () => {
  const made = make(3, "trace");
  made.info.threads[2].waker_only = true;
  const r = await load(made), range = { from: 0, until: 1e5, threads: null, classes: 31, idle: true, others: false };
  const asked = [1, 3, 4].filter((thread) => made.info.threads[thread]), shown = (given) => threadTimes(r, given).map(({ thread }) => thread);
  assert.deepEqual(channelsOf(r, range), expected(made, { ...range, threads: asked }));
  assert.deepEqual(channelsOf(r, { ...range, others: true }), expected(made, range));
  assert.deepEqual(channelsOf(r, { ...range, threads: [2] }), expected(made, { ...range, threads: [2] }));
  assert.deepEqual([...weighAgain(r, range)], [...weigh(r, range)]);
  assert.deepEqual([...weighAgain(r, { ...range, others: true })], [...weigh(r, { ...range, others: true })]);
  assert.deepEqual(shown(range), asked);
  assert.deepEqual(shown({ ...range, threads: [2] }), [...asked, 2]);
  assert.deepEqual(shown({ ...range, threads: [2], others: true }), shown({ ...range, others: true }));
  assert.deepEqual(shown({ ...range, others: true }).filter((thread) => thread !== 2), asked);
  assert.notDeepEqual(heat(r, range, 10), heat(r, { ...range, others: true }, 10));
});
test("flame graphs add up, whatever their form", async () => {
  for (let seed = 1; seed <= 10; seed++) {
    const made = make(seed, "trace"), r = await load(made), base = flameBase(r, false);
    const range = { from: 1e3, until: 8e4, threads: null, classes: 31, idle: seed % 2 === 0, others: false };
    const total = expected(made, range).reduce((sum, ns) => sum + ns, 0);
    for (const by of ["none", "process", "thread"])
      for (const inverted of [false, true]) checkFlame(flame(r, base, range, { ...OPTIONS, by, inverted }), total);
    const hits = search(r, base, range, "f3");
    assert.equal(hits.total, total);
    assert.deepEqual(search(r, base, range, "f3", "f3"), { ns: hits.ns, total: hits.ns });
    for (const inverted of [false, true]) checkFlame(flame(r, base, range, { ...OPTIONS, focus: "f3", inverted }), hits.ns);
    const both = flameDifference({ r, base, range }, { r, base, range: { ...range, from: 0, until: 1e3 } }, OPTIONS);
    assert.equal(both.total, total);
    assert.equal(both.compared, expected(made, { ...range, from: 0, until: 1e3 }).reduce((sum, ns) => sum + ns, 0));
  }
});
function pathsOf(r, range, options, strip = false) {
  const paths = /* @__PURE__ */ new Map(), shown = shownKinds(r, range);
  for (const thread of threadsOf(r, range)) {
    const weights = new Float64Array(r.combos.n), info = r.info.threads[thread];
    addThread(r, thread, range, shown, weights);
    const group = { none: "", process: "program/1", thread: `t${info.tid}/${info.tid}` }[options.by];
    weights.forEach((ns, combo) => {
      const kind = r.kinds[r.combos.kind[combo]], chain = [];
      if (!ns) return;
      if (kind.class) chain.push(kind.channel === 5 ? `${kind.name} (for work)` : kind.name);
      const leaf = r.stackNode[r.combos.stack[combo]];
      for (let node = leaf; node; node = r.nodeParent[node]) chain.push(r.strings[r.frames.name[r.nodeFrame[node]]]);
      if (!leaf) chain.push("[no stack]");
      let wanted = options.inverted ? chain : chain.reverse();
      if (options.focus !== null) {
        const at = wanted.indexOf(options.focus);
        if (at < 0) return;
        wanted = wanted.slice(at);
      }
      if (group) wanted = [strip ? group.replace(/\/\d+$/, "") : group, ...wanted];
      for (let n = 0; n <= wanted.length; n++) {
        const key = wanted.slice(0, n).join(">"), entry = paths.get(key) ?? [0, 0, 0, 0, 0, 0, 0];
        entry[kind.channel] += ns;
        if (n === wanted.length) entry[6] += ns;
        paths.set(key, entry);
      }
    });
  }
  return paths;
}
function picturePaths(picture) {
  const keys = [], own = /* @__PURE__ */ new Map(), other = /* @__PURE__ */ new Map();
  for (let node = 0; node < picture.parent.length; node++) {
    const above = node ? keys[picture.parent[node]] : "", name = node ? picture.labels[picture.label[node]] : "";
    const key = keys[node] = above ? `${above}>${name}` : name;
    assert.ok(!own.has(key), `${key} is there once`);
    own.set(key, [...picture.channels.subarray(node * CHANNELS, (node + 1) * CHANNELS), picture.self[node]]);
    other.set(key, picture.other[node]);
  }
  return { own, other };
}
var FORMS = ["none", "process", "thread"].flatMap((by) => [false, true].flatMap((inverted) => [null, "f3", "f1", "futex", "nowhere"].map((focus) => ({ ...OPTIONS, by, inverted, focus }))));
for (const mode of ["trace", "sampling"])
  test(`flame graphs of all forms are those of the definition, ${mode}`, async () => {
    for (let seed = 1; seed <= 6; seed++) {
      const r = await load(make(seed, mode)), base = flameBase(r, false), random = randomNumbers(seed);
      for (const options of FORMS) {
        const from = random(6e4), range = { from, until: from + 1 + random(4e4), threads: random(3) ? null : [2, 4], classes: random(3) ? 31 : 1 + random(31), idle: random(2) === 1, others: false };
        const expect = pathsOf(r, range, options), { own } = picturePaths(flame(r, base, range, options));
        if (!expect.size) expect.set("", [0, 0, 0, 0, 0, 0, 0]);
        assert.deepEqual(new Map([...own].sort()), new Map([...expect].sort()), JSON.stringify({ seed, options, range }));
      }
    }
  });
test("a difference has both sides, of one recording or of two", async () => {
  const one = await load(make(21, "trace")), two = await load(make(22, "trace")), random = randomNumbers(5);
  const bases = /* @__PURE__ */ new Map([[one, flameBase(one, false)], [two, flameBase(two, false)]]);
  for (const second of [one, two])
    for (const options of FORMS) {
      const range = { from: random(3e4), until: 5e4, threads: null, classes: 31, idle: true, others: false }, otherRange = { ...range, from: 4e4, until: 40001 + random(6e4) };
      const picture = flameDifference({ r: one, base: bases.get(one), range }, { r: second, base: bases.get(second), range: otherRange }, options);
      const strip = second === two, left = pathsOf(one, range, options, strip), right = pathsOf(second, otherRange, options, strip), { own, other } = picturePaths(picture);
      const within = new Float64Array(picture.parent.length);
      for (let node = 1; node < picture.parent.length; node++) within[picture.parent[node]] += picture.size[node];
      within.forEach((size, node) => assert.ok(size <= picture.size[node] * (1 + 1e-9), "children lie within"));
      const sum = (entry) => entry?.slice(0, 6).reduce((ns, part) => ns + part, 0) ?? 0;
      for (const key of /* @__PURE__ */ new Set([...own.keys(), ...left.keys(), ...right.keys()])) {
        assert.equal(sum(own.get(key)), sum(left.get(key)), `${key}, ${JSON.stringify(options)}`);
        assert.equal(other.get(key) ?? 0, sum(right.get(key)), `${key} of the other, ${JSON.stringify(options)}`);
      }
    }
});
test("small nodes are left out, and nothing else", async () => {
  const r = await load(make(4, "trace")), base = flameBase(r, false), range = { from: 0, until: 1e5, threads: null, classes: 31, idle: true, others: false };
  for (const inverted of [false, true]) {
    const all = flame(r, base, range, { ...OPTIONS, inverted }), some = flame(r, base, range, { ...OPTIONS, inverted, least: 0.02 });
    const expect = new Map([...picturePaths(all).own].filter(([, entry]) => entry.slice(0, 6).reduce((sum, ns) => sum + ns, 0) >= 0.02 * all.total));
    assert.deepEqual(new Map([...picturePaths(some).own].sort()), new Map([...expect].sort()));
    assert.ok(some.parent.length > 10 && some.parent.length < all.parent.length);
  }
});
for (const mode of ["trace", "sampling"])
  test(`a selection that moves has the times of one made anew, ${mode}`, async () => {
    for (let seed = 1; seed <= 5; seed++) {
      const r = await load(make(seed, mode)), random = randomNumbers(seed + 100);
      let from = 2e4, until = 6e4;
      for (let i = 0; i < 300; i++) {
        if (random(3)) from = Math.max(0, Math.min(until - 1, from + random(4001) - 2e3));
        if (random(3)) until = Math.max(from + 1, Math.min(1e5, until + random(4001) - 2e3));
        if (!random(40)) [from, until] = [random(5e4), 50001 + random(5e4)];
        const range = { from, until, threads: seed % 2 ? null : [1, 3], classes: seed === 3 ? 22 : 31, idle: seed === 2, others: false };
        assert.deepEqual(weighAgain(r, range), weigh(r, range), `${mode}, seed ${seed}, step ${i}: ${from} to ${until}`);
      }
    }
  });
test("bins have all of the time", async () => {
  for (let seed = 1; seed <= 10; seed++) {
    const made = make(seed, "trace"), r = await load(made), random = randomNumbers(seed);
    for (let i = 0; i < 20; i++) {
      const from = random(9e4), until = from + 100 + random(9e3), width = 1 + random(200), thread = 1 + random(4);
      const bins = new Float32Array(width * CHANNELS), step = (until - from) / width, sums = new Float64Array(CHANNELS);
      addBins(r, thread, from, until, width, bins);
      for (let x = 0; x < width; x++) {
        let share = 0;
        for (let c = 0; c < CHANNELS; c++) {
          share += bins[x * CHANNELS + c];
          sums[c] += bins[x * CHANNELS + c] * step;
        }
        assert.ok(Math.abs(share - 1) < 1e-4, `bin ${x} has ${share}`);
      }
      const truth = expected(made, { from, until, threads: [thread], classes: 30, idle: true, others: false });
      for (let c = 1; c < CHANNELS; c++) assert.ok(Math.abs(sums[c] - truth[c]) < 0.01 + truth[c] * 1e-5, `channel ${c}: ${sums[c]} for ${truth[c]}`);
    }
    for (const row of rows(r, [1, 2], 0, 1e5, 4e3)) assert.ok(row.items, "few intervals are listed");
    for (const row of rows(r, [1, 2], 0, 1e5, 40)) assert.ok(row.bins, "many are not");
  }
});
test("times of threads are those of the report", async () => {
  for (const mode of ["trace", "sampling"]) {
    const made = make(5, mode), r = await load(made), range = { from: 0, until: 1e5, threads: null, classes: 31, idle: true, others: false };
    for (const { thread, ns } of threadTimes(r, range)) {
      const truth = expected(made, { ...range, threads: [thread] });
      for (let c = mode === "trace" ? 1 : 0; c < CHANNELS; c++) assert.equal(ns[c], truth[c], `${mode}, channel ${c}`);
    }
  }
});
test("a sample stands for the time before it, in as many bins as that is", async () => {
  const made = make(6, "sampling");
  made.intervals.length = made.samples.length = 0;
  made.samples.push({ thread: 1, time: 5e4, points: 2, stack: 1 });
  const r = await load({ ...made, ...encode("sampling", 4, 1e5, made.intervals, made.samples) }), bins = new Float32Array(100 * CHANNELS);
  addBins(r, 1, 0, 1e5, 100, bins);
  assert.deepEqual(Array.from({ length: 100 }, (_, x) => x).filter((x) => bins[x * CHANNELS] > 0.5), [48, 49]);
});
test("before and after its life a thread does not run", async () => {
  const made = make(8, "trace");
  made.intervals.length = made.samples.length = 0;
  made.info.threads[1].created = 2e4;
  made.info.threads[1].ended = 6e4;
  const { threads } = made.info, encoded = encode("trace", 4, 1e5, [{ thread: 2, out: 5, wake: 6, in: 7, wait: 0, stack: 1, waker: 0, points: [0, 0] }], []);
  const r = await load({ ...made, ...encoded, info: { ...encoded.info, threads } });
  assert.deepEqual(
    pieces(r, 1, 0, 1e5, 9).list.map(({ from, until, text }) => [from, until, text]),
    [[0, 2e4, "not there"], [2e4, 6e4, "running"], [6e4, 1e5, "not there"]]
  );
  for (const time of [0, 19999, 6e4, 99999]) assert.equal(pieceAt(r, 1, time).text, "not there");
  assert.equal(pieceAt(r, 1, 2e4).text, "running");
});
test("following a wait explains all of it, and no more", async () => {
  const made = make(3, "trace"), r = await load(made);
  let followed = 0;
  for (let i = 0; i < r.out.length; i++) {
    const cause = causeOf(r, i, r.out[i], r.wake[i]), length = r.wake[i] - r.out[i];
    assert.equal(cause.type, r.waker[i] ? "thread" : "unknown");
    if (cause.type !== "thread" || cause.more) continue;
    followed++;
    assert.equal(cause.pieces.reduce((sum, piece) => sum + piece.until - piece.from, 0), length);
    cause.pieces.forEach((piece, k) => assert.equal(piece.from, k ? cause.pieces[k - 1].until : r.out[i]));
    assert.ok(Math.abs(cause.ns.reduce((sum, ns) => sum + ns, 0) - length) <= length * 1e-5);
  }
  assert.ok(followed > 100);
  for (let time = 0; time < 1e5; time += 37) {
    const piece = pieceAt(r, 2, time);
    assert.ok(piece.from <= time && time < piece.until, `${time} is in ${piece.from} to ${piece.until}`);
  }
  const places = made.intervals.filter((one) => one.in > one.out), got = intervalsAt(r, places.map((one) => one.thread), places.map((one) => one.out));
  assert.deepEqual([...got.stack], places.map((one) => one.stack));
  assert.deepEqual([...got.wait], places.map((one) => one.wait + 1));
  assert.deepEqual([...r.wakerStack].filter((stack) => stack !== 0), []);
  const all = pieces(r, 1, 0, 1e5, 1e9);
  assert.equal(all.list.reduce((sum, piece) => sum + piece.until - piece.from, 0), 1e5);
});
