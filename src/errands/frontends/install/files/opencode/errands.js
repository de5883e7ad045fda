// Errands: background tasks for OpenCode.
// Written by `errands install opencode`, removed by `errands uninstall opencode`.
//
// It offers the tools, reports each end into the session that started the task, and lets Errands run background
// agents in this OpenCode, over a private socket. It imports nothing from npm, so it works without a network.
// One `errands client opencode` process serves all sessions; Errands keeps the record of everything.

import { spawn } from "node:child_process"
import { chmodSync, mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"

const ERRANDS = "{errands}"
const ENVIRONMENT = "{environment}"
const TOOLS = "{tools}"
const ENDS = "{ends}"

const RULE = "errands*" // our questions; their names begin like this
const LEAST = 100 // ms: whatever answers faster is a program and not a person
const PATIENCE = 20000 // ms: no prompt waits longer for Errands
const LONG = 20000 // ms to read what has to be typed elsewhere
const LOOK = 2000 // ms until a session is looked at again whose idle event was missed
const BRIDGED = /^\/(session|permission|agent|event|global\/health)(\/|$)/

// `opencode run` exits with its turn: it cannot be told of an end later, and it refuses every question by itself.
const IS_RUN = process.argv.slice(2).find((word) => !word.startsWith("-")) === "run"

// The bridge: HTTP on a Unix socket, passed on to the client that OpenCode gave us. Nothing else listens in a TUI.
const openBridge = (client) => {
  const { baseUrl, fetch: send = fetch, headers } = client._client?.getConfig?.() ?? {}
  if (typeof baseUrl !== "string" || typeof send !== "function") return null // not a public interface
  const folder = mkdtempSync(join(process.env.XDG_RUNTIME_DIR || tmpdir(), "errands-")) // mode 0700
  const path = join(folder, "opencode")
  const server = createServer(async (request, response) => {
    try {
      const url = new URL(request.url, baseUrl)
      if (!BRIDGED.test(url.pathname)) return response.writeHead(403).end()
      const pieces = []
      for await (const piece of request) pieces.push(piece)
      const sent = new Headers(headers)
      sent.set("content-type", "application/json")
      const directory = url.searchParams.get("directory")
      if (directory) sent.set("x-opencode-directory", encodeURIComponent(directory))
      const stop = new AbortController()
      response.on("close", () => stop.abort())
      const body = pieces.length ? Buffer.concat(pieces) : undefined
      const answer = await send(new Request(url, { method: request.method, headers: sent, body, signal: stop.signal }))
      response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "text/plain" })
      response.flushHeaders()
      for await (const piece of answer.body ?? []) response.write(piece)
      response.end()
    } catch (error) {
      if (!response.headersSent) response.writeHead(502)
      response.end(String(error))
    }
  })
  const umask = process.umask?.(0o177)
  server.listen(path, () => chmodSync(path, 0o600))
  if (umask !== undefined) process.umask(umask)
  server.unref?.()
  return { path, close: () => (server.close(), rmSync(folder, { recursive: true, force: true })) }
}

// What the instances of this plugin in one OpenCode share: there is one for each directory, and maybe more. Those
// that were installed for another home of Errands have a process of their own.
class Shared {
  users = 0
  homes = new Map() // session -> the client of its directory, and its agent
  busy = new Map() // session -> those that wait until it is idle
  asked = new Map() // call -> our question about it: { id, session, at }
  withdrawn = new Set() // calls whose question was answered elsewhere
  replied = new Map() // question -> the answer to it: { reply, at }
  waiting = new Map() // request -> its promise
  count = 0
  bridge = undefined
  process = null

  enter(client) {
    this.users += 1
    try {
      this.bridge ??= openBridge(client)
    } catch {
      this.bridge = null // then Errands runs agents elsewhere
    }
  }

  leave() {
    this.users -= 1
    if (this.users > 0) return
    this.process?.stdin.end()
    this.bridge?.close()
    this.bridge = this.process = undefined
  }

  know(session, client, agent) {
    const known = this.homes.get(session)
    this.homes.set(session, { client, agent: agent ?? known?.agent })
  }

  // Starts the process of Errands, unless it runs.
  start(directory) {
    if (this.process) return
    const [program, ...words] = [...ERRANDS, "client", "opencode", "serve"]
    const env = { ...process.env, ...ENVIRONMENT }
    const child = spawn(program, words, { cwd: directory, env, stdio: ["pipe", "pipe", "ignore"] })
    this.process = child
    let rest = ""
    child.stdout.setEncoding("utf8")
    child.stdout.on("data", (piece) => {
      const lines = (rest + piece).split("\n")
      rest = lines.pop()
      for (const line of lines) this.receive(JSON.parse(line), child)
    })
    const ended = () => {
      if (this.process !== child) return
      this.process = null
      for (const { reject } of this.waiting.values())
        reject(new Error(`Errands ended unexpectedly; to see why, run: ${ERRANDS.join(" ")} doctor`))
      this.waiting.clear()
    }
    child.on("error", ended)
    child.stdout.on("end", ended)
    child.stdin.on("error", () => {})
    this.write({
      type: "hello",
      pid: process.pid,
      socket: this.bridge?.path ?? null,
      program: process.execPath,
      wakes: !IS_RUN,
    })
    for (const session of this.homes.keys()) this.write({ type: "watch", session })
  }

  write(message) {
    this.process?.stdin.write(JSON.stringify(message) + "\n")
  }

  tell(directory, message) {
    this.start(directory)
    this.write(message)
  }

  request(directory, message, { ask, withdraw, abort } = {}) {
    this.start(directory)
    const id = ++this.count
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject, ask, withdraw })
      this.write({ ...message, id })
      abort?.addEventListener("abort", () => {
        if (this.waiting.delete(id)) this.write({ type: "cancel", id })
        reject(new Error("interrupted; what was started in the background keeps running"))
      })
    })
  }

  async receive(message, from) {
    const { type, id, session } = message
    const answer = (said) => this.process === from && this.write({ id, ...said }) // not to the next process
    if (type === "reply") {
      this.waiting.get(id)?.resolve(message)
      this.waiting.delete(id)
    } else if (type === "question") {
      const said = (await this.waiting.get(id)?.ask(message)) ?? { answer: "none" }
      answer({ type: "answer", ...said })
    } else if (type === "withdraw") {
      this.waiting.get(id)?.withdraw()
    } else if (type === "news") {
      const ready = await this.ready(session).catch(() => false)
      answer(ready ? { type: "ready" } : { type: "delivered", delivered: false })
    } else if (type === "notice") {
      answer({ type: "delivered", delivered: await this.deliver(session, message.text).catch(() => false) })
    }
  }

  // Waits until a session can take a report; false if it is not known here.
  async ready(session) {
    const home = this.homes.get(session)
    if (home && !IS_RUN) await this.idle(session, home.client) // `opencode run` exits when it is idle
    return Boolean(home)
  }

  // Reports into a session when it is idle, with its own agent: without one, OpenCode would answer as `build`,
  // with full rights.
  async deliver(session, text) {
    if (!(await this.ready(session))) return false
    const home = this.homes.get(session)
    const found = await home.client.session.get({ path: { id: session } })
    const agent = found.data?.agent ?? home.agent
    if (found.error || !agent) return false
    const body = { agent, parts: [{ type: "text", text, synthetic: true }] }
    const sent = await home.client.session.promptAsync({ path: { id: session }, body })
    if (sent.error) return false
    const [head, first = "- news"] = text.split("\n")
    const others = Number(/news of (\d+)/.exec(head)?.[1] ?? 1) - 1
    const message = first.slice(2) + (others > 0 ? ` (and ${others} more)` : "")
    const toast = { title: "Errands", message, variant: "info" }
    home.client.tui.showToast({ body: toast }).catch(() => {}) // the person does not see the message itself
    return true
  }

  async idle(session, client) {
    while (true) {
      const states = await client.session.status()
      const state = states.data?.[session]
      if (!states.error && (!state || state.type === "idle")) return
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, LOOK)
        const woken = () => (clearTimeout(timer), resolve())
        this.busy.set(session, [...(this.busy.get(session) ?? []), woken])
      })
    }
  }

  // Refuses a prompt to a session that Errands works on in another process, because the two would answer each other
  // for ever. Only sessions of background agents can be in use there. OpenCode does not pass on what a hook says.
  async admit(directory, client, session) {
    const found = await client.session.get({ path: { id: session } })
    if (!found.data?.metadata?.errands) return
    const late = new Promise((resolve) => setTimeout(resolve, PATIENCE, { text: "" }).unref?.())
    const asked = this.request(directory, { type: "prompt", session }).catch(() => ({ text: "" }))
    const { text } = await Promise.race([asked, late])
    if (!text) return
    if (IS_RUN) console.error(text)
    const body = { title: "Errands", message: text, variant: "error", duration: LONG }
    await client.tui.showToast({ body }).catch(() => {})
    throw new Error(text)
  }

  // OpenCode shows the questions of child sessions with their parent, but those of a fork nowhere.
  async announce(client, { sessionID, permission }) {
    const found = await client.session.get({ path: { id: sessionID } })
    const [, task] = found.data?.metadata?.errands?.split("task:") ?? []
    if (!task || found.data.parentID) return
    const message = `${found.data.title} waits for your answer (${permission}): errands approve ${task}`
    await client.tui.showToast({ body: { title: "Errands", message, variant: "warning", duration: LONG } })
  }

  see({ type, properties }, client) {
    if (type === "session.idle") {
      for (const wake of this.busy.get(properties.sessionID) ?? []) wake()
      this.busy.delete(properties.sessionID)
      if (this.homes.has(properties.sessionID)) this.write({ type: "watch", session: properties.sessionID })
    } else if (type === "permission.asked" && properties.permission?.startsWith("errands: ") && properties.tool) {
      const { callID } = properties.tool
      this.asked.set(callID, { id: properties.id, session: properties.sessionID, at: Date.now() })
      if (this.withdrawn.has(callID)) this.withdraw(callID, client)
    } else if (type === "permission.replied") {
      const id = properties.requestID ?? properties.permissionID
      this.replied.set(id, { reply: properties.reply ?? properties.response, at: Date.now() })
    }
  }

  // Takes back a question that was answered elsewhere; a no would take all others of the session with it.
  withdraw(callID, client) {
    this.withdrawn.add(callID)
    const asked = this.asked.get(callID)
    if (!asked) return // OpenCode has not shown it yet
    const path = { id: asked.session, permissionID: asked.id }
    client.postSessionIdPermissionsPermissionId({ path, body: { response: "once" } }).catch(() => {})
  }

  // Asks the person in OpenCode. Only an answer that OpenCode's events show, and that took a person's time, counts:
  // a rule that allows everything answers the question without asking a person.
  async ask(ctx, { command, reasons }) {
    let words = ""
    let passed = true
    try {
      const permission = `errands: ${command} (${reasons.join("; ")})`
      await ctx.ask({ permission, patterns: [command], always: [], metadata: {} })
    } catch (error) {
      passed = false
      words = error?.feedback ?? error?.data?.feedback ?? ""
    }
    const asked = this.asked.get(ctx.callID)
    const replied = this.replied.get(asked?.id)
    this.asked.delete(ctx.callID)
    this.replied.delete(asked?.id)
    if (this.withdrawn.delete(ctx.callID)) return { answer: "none" }
    if (!asked || !replied || replied.at - asked.at < LEAST) return { answer: "none" }
    const yes = { once: "yes", always: "always" }[replied.reply]
    if (passed && yes) return { answer: yes }
    return replied.reply === "reject" ? { answer: "no", words } : { answer: "none" }
  }
}

const KEY = Symbol.for("errands")
const HOME = JSON.stringify([ERRANDS, ENVIRONMENT])

const server = async ({ client, directory }) => {
  if (process.env.ERRANDS_OPENCODE === "headless") return {} // Errands itself runs this server, for an agent
  const homes = (globalThis[KEY] ??= new Map())
  if (!homes.has(HOME)) homes.set(HOME, new Shared())
  const shared = homes.get(HOME)
  shared.enter(client)

  const execute = (name) => async (args, ctx) => {
    shared.know(ctx.sessionID, client, ctx.agent)
    const model = ctx.extra?.model
    const caller = {
      session: ctx.sessionID,
      message: ctx.messageID,
      call: ctx.callID,
      agent: ctx.agent,
      model: model ? `${model.providerID}/${model.id}` : null,
      directory: ctx.directory ?? directory,
    }
    const message = { type: "call", tool: name, arguments: args, caller, asks: !IS_RUN }
    const ask = (question) => shared.ask(ctx, question)
    const withdraw = () => shared.withdraw(ctx.callID, client)
    const reply = await shared.request(directory, message, { ask, withdraw, abort: ctx.abort })
    if (reply.failed) throw new Error(reply.text)
    return { title: "", output: reply.text, metadata: { tasks: reply.tasks } }
  }

  return {
    config: async (config) => {
      const own = typeof config.permission === "string" ? { "*": config.permission } : config.permission
      config.permission = { ...own, [RULE]: own?.[RULE] ?? "ask" } // the last rule that matches holds
    },
    tool: Object.fromEntries(
      Object.entries(TOOLS).map(([name, { description, parameters }]) => {
        const said = description.replace("{end}", IS_RUN ? ENDS.none : ENDS.session)
        return [name, { description: said, args: parameters.properties, execute: execute(name) }]
      }),
    ),
    "tool.definition": async ({ toolID }, output) => {
      if (TOOLS[toolID]) output.jsonSchema = TOOLS[toolID].parameters
    },
    event: async ({ event }) => {
      shared.see(event, client)
      if (event.type === "permission.asked") shared.announce(client, event.properties).catch(() => {})
      if (event.type === "session.deleted")
        shared.tell(directory, { type: "deleted", session: event.properties.info?.id ?? event.properties.sessionID })
    },
    // Tasks that ended while OpenCode was not running are reported with the next message in the session.
    "chat.message": async ({ sessionID, agent }, output) => {
      await shared.admit(directory, client, sessionID)
      shared.know(sessionID, client, output?.message?.agent ?? agent)
      shared.tell(directory, { type: "watch", session: sessionID })
    },
    // `errands run` in OpenCode's own shell belongs to the session, too; see the idle event.
    "shell.env": async ({ sessionID }, output) => {
      if (sessionID) output.env.ERRANDS_SESSION = `opencode:${sessionID}`
    },
    dispose: async () => shared.leave(),
  }
}

export default { id: "errands", server }
