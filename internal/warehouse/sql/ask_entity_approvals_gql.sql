-- Which approvals rest on an entity, in all sessions or in those of one application,
-- latest first: the requests for a confirmation between @from and @to to which a path
-- leads from a step that saw the entity before. The search begins at the entity.
--
-- Shortest is by edges of every kind; a path with more than @hops edges of kind informs
-- and resumes does not count.
WITH
  uses AS (
    SELECT
      found.app_name, found.user_id, found.session_id, found.node_key, found.name, found.agent, found.call_id,
      found.decided_at, found.hops, biz.node_value,
      IF(
        biz.evaluated_at <= found.decided_at, biz.evaluated_at,
        COALESCE(
          (SELECT MAX(s.evaluated_at) FROM UNNEST(biz.sightings) AS s WHERE s.evaluated_at <= found.decided_at),
          biz.first_evaluated_at)) AS evaluated_at
    FROM
      GRAPH_TABLE(
        {{graph}}
        MATCH ANY SHORTEST
          (entity:BizNode WHERE (@app = '' OR entity.app_name = @app) AND entity.evaluated_at BETWEEN @from AND @to AND entity.session_day BETWEEN {{days}}
            AND (entity.canonical_key = @entity OR (@type != '' AND entity.node_type = @type AND entity.node_value = @value)))
          <-[evaluated:Evaluated WHERE (@app = '' OR evaluated.app_name = @app) AND evaluated.evaluated_at BETWEEN @from AND @to AND evaluated.session_day BETWEEN {{days}}]-
          (step:TechNode)
          -[caused:Caused WHERE (@app = '' OR caused.app_name = @app) AND caused.occurred_at BETWEEN @from AND @to AND caused.session_day BETWEEN {{days}}]->{0,{{.Edges}}}
          (decision:TechNode WHERE decision.approval AND (@app = '' OR decision.app_name = @app)
            AND decision.start_time BETWEEN @from AND @to AND decision.session_day BETWEEN {{days}})
        WHERE entity.evaluated_at <= decision.decided_at OR entity.first_evaluated_at <= decision.decided_at
        LET hops = COUNTIF(caused.kind != 'contains')
        RETURN
          decision.app_name AS app_name, decision.user_id AS user_id, decision.session_id AS session_id,
          decision.node_key AS node_key, decision.name AS name, decision.agent AS agent, decision.call_id AS call_id,
          decision.decided_at AS decided_at, entity.biz_key AS biz_key, hops
      ) AS found
    JOIN ({{template "biz_nodes" "window"}}
  ) AS biz ON biz.biz_key = found.biz_key
    WHERE biz.evaluated_at BETWEEN @from AND @to
      AND found.hops <= @hops
  )
SELECT
  app_name, user_id, session_id, node_key, name, agent, call_id, decided_at,
  MIN(hops) AS hops,
  COUNT(*) AS sightings,
  MAX(evaluated_at) AS evaluated_at,
  ARRAY_AGG(node_value ORDER BY evaluated_at DESC, node_value LIMIT 1)[OFFSET(0)] AS node_value,
  0 AS searched, FALSE AS incomplete
FROM uses
GROUP BY app_name, user_id, session_id, node_key, name, agent, call_id, decided_at
ORDER BY decided_at DESC, node_key
LIMIT @limit
