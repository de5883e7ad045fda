// Errands: reports the end of a background task into the session that started it.
// Written by `errands install opencode`, removed by `errands uninstall opencode`.
//
// It names the calling session to the server of Errands, and keeps one waiting process for each session that has
// tasks. Waiting makes no model calls.

import { spawn } from "node:child_process"

const ERRANDS = "{errands}"
const ENVIRONMENT = "{environment}"
const TOOLS = "errands_"

export const Errands = async ({ client, directory }) => {
  const watched = new Map()
  const seen = new Set()

  // Returns the next report for a session, or nothing when none is to come.
  const nextReport = (session, watch) =>
    new Promise((resolve) => {
      const [program, ...words] = [...ERRANDS, "client", "opencode", "news", session]
      const child = spawn(program, words, {
        cwd: directory,
        env: { ...process.env, ...ENVIRONMENT },
        stdio: ["pipe", "pipe", "ignore"],
      })
      let text = ""
      child.stdout.setEncoding("utf8")
      child.stdout.on("data", (piece) => (text += piece))
      child.stdout.on("end", () => resolve({ text, answer: (word) => child.stdin.end(`${word}\n`) }))
      child.stdin.on("error", () => {})
      child.on("error", () => resolve({ text: "", answer: () => {} }))
      watch.child = child
    })

  const deliver = async (session, text) => {
    try {
      const sent = await client.session.promptAsync({
        path: { id: session },
        body: { parts: [{ type: "text", text, synthetic: true }] },
      })
      return !sent.error
    } catch {
      return false
    }
  }

  const watchSession = async (session) => {
    const known = watched.get(session)
    if (known) {
      known.again = true // it may just have found that there is nothing to wait for
      return
    }
    const watch = { child: null, again: true }
    watched.set(session, watch)
    try {
      while (watch.again) {
        watch.again = false
        const { text, answer } = await nextReport(session, watch)
        if (!text) {
          answer("nothing")
          continue
        }
        const isDelivered = await deliver(session, text)
        answer(isDelivered ? "told" : "refused")
        watch.again ||= isDelivered
        // An undelivered report stays in the inbox until the next message in the session.
        if (!isDelivered) seen.delete(session)
      }
    } finally {
      watched.delete(session)
    }
  }

  return {
    "tool.execute.before": async (input, output) => {
      if (input.tool.startsWith(TOOLS)) output.args._session = input.sessionID
    },
    "tool.execute.after": async (input) => {
      if (input.tool.startsWith(TOOLS)) watchSession(input.sessionID)
    },
    // Tasks that ended while OpenCode was not running are reported with the next message in the session.
    "chat.message": async (input) => {
      if (seen.has(input.sessionID)) return
      seen.add(input.sessionID)
      watchSession(input.sessionID)
    },
    dispose: async () => {
      for (const { child } of watched.values()) child?.kill()
    },
  }
}
