// What DHAT's viewer makes of a file: node read_dhat.js dh_view.js FILE
const fs = require("fs");
const vm = require("vm");
const context = {document: {}, window: {}};
vm.createContext(context);
const load = `;(text) => {
  gSelect = {childNodes: gSelectData.map(() => ({})), selectedIndex: 0};
  gData = JSON.parse(text);
  buildTree();
  return {root: gRoot, frames: gData.ftbl};
}`;
const read = vm.runInContext(fs.readFileSync(process.argv[2], "utf8") + load, context);
const {root, frames} = read(fs.readFileSync(process.argv[3], "utf8"));
console.log(JSON.stringify({
  allocated_bytes: root._totalBytes, allocations: root._totalBlocks, peak_bytes: root._atTGmaxBytes,
  live_bytes: root._atTEndBytes, live_blocks: root._atTEndBlocks, frames,
}));
