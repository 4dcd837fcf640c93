"use strict";
// Browsers start no worker from a page on disk. There, the search of the site runs in a hidden frame instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      // What the script inside posts arrives here; what is posted from here waits until the script is there.
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inside.importScripts = () => { throw new Error("no further scripts on disk"); };
      const deliver = (data) => inside.dispatchEvent(new inside.MessageEvent("message", { data }));
      this.postMessage = (data) => waiting.push(data);
      this.terminate = () => frame.remove();
      const script = inside.document.createElement("script");
      script.src = String(url);
      script.onload = () => { this.postMessage = deliver; waiting.forEach(deliver); };
      inside.document.head.append(script);
    }
  };
}
