import { startPage } from './ui/page.js';
import { VIEWS } from './views/index.js';

void startPage(document.getElementById('app')!, VIEWS);
