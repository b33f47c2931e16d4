// A Fault is an error that says what happened; offer, if there is one, is a way out:
// {label, run}.
export class Fault extends Error {
  constructor(status, code, message, id = "") {
    super(message);
    Object.assign(this, { status, code, id, offer: null });
  }

  // words says it to people.
  get words() {
    const said = this.message ? ` (${this.message})` : "";
    switch (this.code) {
      case "unauthorized": return "This server wants a token.";
      case "not-found": case "no-root": case "no-entry": return `There is no such thing here, or it is gone${said}.`;
      case "changed": return "It was replaced by another version since this page opened it.";
      case "too-large": case "too-much": return `That is too much at once: ${this.message}.`;
      case "denied": return "The source does not let this server read it.";
      case "corrupt": return `The stored bytes are damaged${said}.`;
      case "unsupported": case "type": case "structured": return `This cannot be shown: ${this.message}.`;
      case "busy": case "unavailable": case "closing": case "timeout": return `No answer just now${said}.`;
      case "network": return "The server cannot be reached.";
      default: return this.message || `Error ${this.status}`;
    }
  }
}
