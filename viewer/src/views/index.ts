import type { View } from '../ui/app.js';
import { causal } from './causal.js';
import { flameView } from './flame.js';
import { latency } from './latency.js';
import { path } from './path.js';
import { summary } from './summary.js';
import { timelineView } from './timeline.js';
import { waits } from './waits.js';

export const VIEWS: readonly View[] = [summary, flameView, timelineView, waits, path, causal, latency];
