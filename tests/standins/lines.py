"""Lines as the programs print them: Claude Code 2.1, Codex CLI 0.155, Gemini CLI 0.65. For tests."""

from __future__ import annotations

from typing import Any

SESSION = "5b0a1f0e-7a51-4a5b-9c1e-0a4f6d2b9e11"
THREAD = "0199a213-81c0-7800-8aa1-bbab2a035a53"


def init(version: str = "2.1.221", session: str = SESSION, model: str = "claude-sonnet-4-5") -> dict[str, Any]:
    return {
        "type": "system",
        "subtype": "init",
        "cwd": "/work",
        "session_id": session,
        "tools": ["Bash", "Edit"],
        "model": model,
        "permissionMode": "acceptEdits",
        "claude_code_version": version,
    }


def says(text: str, number: int = 1, input_tokens: int = 10, output_tokens: int = 5, **more: Any) -> dict[str, Any]:
    message = {
        "id": f"msg_{number}",
        "role": "assistant",
        "content": [{"type": "text", "text": text}],
        "usage": {"input_tokens": input_tokens, "output_tokens": output_tokens},
    }
    return {"type": "assistant", "message": message, "session_id": SESSION, **more}


def claude_result(text: str = "Fixed the CORS headers.", usd: float | None = 0.25, **more: Any) -> dict[str, Any]:
    return {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "duration_ms": 2006,
        "num_turns": 3,
        "result": text,
        "session_id": SESSION,
        "total_cost_usd": usd,
        "usage": {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 100},
        "permission_denials": [],
        **more,
    }


def limit(status: str, resets_at: int) -> dict[str, Any]:
    info = {"status": status, "resetsAt": resets_at, "rateLimitType": "five_hour", "isUsingOverage": False}
    return {"type": "rate_limit_event", "rate_limit_info": info, "session_id": SESSION}


def thread(name: str = THREAD) -> dict[str, Any]:
    return {"type": "thread.started", "thread_id": name}


def message(text: str) -> dict[str, Any]:
    return {"type": "item.completed", "item": {"id": "item_1", "type": "agent_message", "text": text}}


def turn(input_tokens: int, output_tokens: int, cached: int = 0) -> dict[str, Any]:
    usage = {"input_tokens": input_tokens, "cached_input_tokens": cached, "output_tokens": output_tokens}
    return {"type": "turn.completed", "usage": usage}


def turn_failed(words: str) -> dict[str, Any]:
    return {"type": "turn.failed", "error": {"message": words}}


def gemini(response: str | None = "Fixed it.", error: dict[str, Any] | None = None, prompt: int = 100) -> dict[str, Any]:
    tokens = {"prompt": prompt, "candidates": 20, "total": prompt + 25, "cached": 10, "thoughts": 5, "tool": 0}
    models = {"gemini-2.5-pro": {"api": {"totalRequests": 2, "totalErrors": 0}, "tokens": tokens}}
    found: dict[str, Any] = {"session_id": "b2b90938", "stats": {"models": models, "tools": {"byName": {}}}}
    return {**found, **({"response": response} if response is not None else {}), **({"error": error} if error else {})}
