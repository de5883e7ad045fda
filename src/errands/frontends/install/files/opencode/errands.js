// Errands: reports the end of a background task into the session that started it.
// Written by `errands install opencode`, removed by `errands uninstall opencode`.
//
// It says to the server of Errands which session calls, and keeps one waiting process for each session that has
// tasks. No model is asked anything while it waits.

import { spawn } from "node:child_process"

const ERRANDS = "{errands}"
const ENVIRONMENT = "{environment}"
const TOOLS = "errands_"

export const Errands = async ({ client, directory }) => {
  const attended = new Map()
  const seen = new Set()

  // Gives the next news of a session, or nothing when there is none to come.
  const next = (session, place) =>
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
      place.child = child
    })

  const tell = async (session, text) => {
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

  const attend = async (session) => {
    const known = attended.get(session)
    if (known) {
      known.again = true // it may just have found that there is nothing to wait for
      return
    }
    const place = { child: null, again: true }
    attended.set(session, place)
    try {
      while (place.again) {
        place.again = false
        const { text, answer } = await next(session, place)
        if (!text) {
          answer("nothing")
          continue
        }
        const isTold = await tell(session, text)
        answer(isTold ? "told" : "refused")
        place.again ||= isTold
        // What was not taken stays in the inbox, until somebody says something in the session.
        if (!isTold) seen.delete(session)
      }
    } finally {
      attended.delete(session)
    }
  }

  return {
    "tool.execute.before": async (input, output) => {
      if (input.tool.startsWith(TOOLS)) output.args._session = input.sessionID
    },
    "tool.execute.after": async (input) => {
      if (input.tool.startsWith(TOOLS)) attend(input.sessionID)
    },
    // What ended while OpenCode was away is told when somebody is back in the session.
    "chat.message": async (input) => {
      if (seen.has(input.sessionID)) return
      seen.add(input.sessionID)
      attend(input.sessionID)
    },
    dispose: async () => {
      for (const { child } of attended.values()) child?.kill()
    },
  }
}
